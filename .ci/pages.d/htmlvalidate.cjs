module.exports = {
  root: true,
  extends: ["html-validate:recommended", "html-validate:document"],
  rules: {
    // HTML takes both spellings
    "doctype-style": "off",
    // a button of a form sends it unless it says otherwise (HTML, 4.10.6), and ours do
    "no-implicit-button-type": "off",
    // our own files come from the service that sends the page
    "require-sri": ["error", { target: "crossorigin" }],
  },
};
