// Sends the files one by one, shows a progress bar for each file, and then its result.
"use strict";
const form = document.getElementById("add");
const chosen = document.getElementById("file");
const found = document.getElementById("found");

form.addEventListener("submit", async (event) => {
  const files = [...chosen.files];
  const ofOne = [...form.querySelectorAll("details input, details textarea")];
  // The service refuses the fields of one book together with several files.
  if (files.length > 1 && ofOne.some((each) => each.value)) return;
  event.preventDefault();
  const button = form.querySelector("button");
  button.disabled = true;
  document.getElementById("came").hidden = false;
  found.replaceChildren();
  const waiting = files.map((file) => [file, shown(file)]);
  for (const [file, item] of waiting) item.replaceWith(...(await sent(file, item)));
  form.reset();
  button.disabled = false;
});

function shown(file) {
  const item = found.appendChild(document.createElement("li"));
  const label = item.appendChild(document.createElement("label"));
  label.append(Object.assign(document.createElement("bdi"), { textContent: file.name }), " ");
  label.append(Object.assign(document.createElement("progress"), { max: 1, value: 0 }));
  return item;
}

function sent(file, item) {
  return new Promise((resolve) => {
    const data = new FormData(form);
    data.set("file", file);
    const request = new XMLHttpRequest();
    const bar = item.querySelector("progress");
    request.upload.onprogress = (event) => { bar.value = event.loaded / event.total; };
    request.upload.onload = () => bar.removeAttribute("value"); // sent; the service is reading the file
    request.onload = () => {
      const answer = new DOMParser().parseFromString(request.responseText, "text/html");
      const items = [...answer.querySelectorAll("#found > li")];
      const problem = answer.querySelector(".problem");
      resolve(items.length ? items : [failed(file, problem ? problem.textContent : form.dataset.lost)]);
    };
    request.onerror = () => resolve([failed(file, form.dataset.lost)]);
    request.open("POST", form.action);
    request.send(data);
  });
}

function failed(file, reason) {
  const item = document.createElement("li");
  const name = Object.assign(document.createElement("p"), { className: "dim", textContent: file.name });
  item.append(name, Object.assign(document.createElement("p"), { className: "problem", textContent: reason }));
  return item;
}
