/** A form's field: a control with its label, and perhaps a hint, tied together. */

import { element } from "./element.js";

let made = 0;

export function field(label, control, hint = null) {
  made += 1;
  control.id ||= `field-${made}`;
  const hintId = `${control.id}-hint`;
  if (hint !== null) control.setAttribute("aria-describedby", hintId);
  return element(
    "div",
    { class: control.type === "checkbox" ? "field check" : "field" },
    element("label", { for: control.id }, label),
    control,
    hint !== null && element("p", { class: "quiet", id: hintId }, hint),
  );
}
