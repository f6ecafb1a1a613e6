/** Questions before something is done that can't be undone. */

import { element } from "./element.js";

/** Resolves to the text that was typed where there is a `label` for one, else to "", and to null
 *  when the answer is no. Escape is no. */
export function confirm({ title, text, doIt, label = null }) {
  return new Promise((resolve) => {
    const input = label === null ? null : element("input", { id: "dialog-text" });
    const dialog = element(
      "dialog",
      { "aria-labelledby": "dialog-title", close: () => finish(null) },
      element(
        "form",
        {
          submit: (event) => {
            event.preventDefault();
            finish(input === null ? "" : input.value.trim());
          },
        },
        element("h2", { id: "dialog-title" }, title),
        element("p", {}, text),
        input !== null && [element("label", { for: "dialog-text" }, label), input],
        element(
          "p",
          { class: "actions" },
          element("button", { type: "button", click: () => finish(null) }, "Cancel"),
          element("button", { type: "submit", class: "danger" }, doIt),
        ),
      ),
    );
    function finish(answer) {
      resolve(answer);
      dialog.close();
      dialog.remove();
    }
    document.body.append(dialog);
    dialog.showModal();
  });
}
