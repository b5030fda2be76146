module.exports = {
  root: true,
  extends: ["html-validate:recommended", "html-validate:document"],
  rules: {
    // HTML takes both spellings
    "doctype-style": "off",
    // a button sends its form and an input takes text unless they say otherwise (HTML, 4.10.5 and 4.10.6)
    "no-implicit-button-type": "off",
    "no-implicit-input-type": "off",
    // checkboxes of one name are one choice of several
    "form-dup-name": ["error", { shared: ["radio", "checkbox", "button", "submit"] }],
    // the names of two books are longer; the rule is for lists of search engines
    "long-title": "off",
    // templates leave it, and nobody sees it
    "no-trailing-whitespace": "off",
    // our own files come from the service that sends the page
    "require-sri": ["error", { target: "crossorigin" }],
  },
};
