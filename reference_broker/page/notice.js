/** A line that says what became of an action; screen readers read it when it changes. */

import { element, replace } from "./element.js";

export class Notice {
  element = element("p", { class: "notice", role: "status" });

  /** Run `work`, and say what it returns, or why it failed. Meanwhile `button` can't be pressed. */
  async during(button, work) {
    button.disabled = true;
    this.say("Working …");
    try {
      this.say(await work());
    } catch (error) {
      this.#show(error.message, "notice refusal");
    } finally {
      button.disabled = false;
    }
  }

  say(text) {
    this.#show(text, "notice");
  }

  #show(text, kind) {
    this.element.className = kind;
    replace(this.element, text);
  }
}
