/** Throwing away what is ready in a queue. Asks first. */

import { ask, path } from "./api.js";
import { confirm } from "./dialog.js";
import { element } from "./element.js";
import { Notice } from "./notice.js";

export class PurgePanel {
  #notice = new Notice();

  constructor(vhost, name) {
    const purge = element("button", { type: "button", class: "danger" }, "Purge …");
    purge.addEventListener("click", () => this.#purge(purge, vhost, name));
    this.element = element(
      "section",
      { class: "panel", "aria-label": "Purge" },
      element("h2", {}, "Purge"),
      element(
        "p",
        { class: "quiet" },
        "Throws away every ready message. Those that consumers hold stay.",
      ),
      purge,
      this.#notice.element,
    );
  }

  async #purge(button, vhost, name) {
    const answer = await confirm({
      title: "Purge this queue?",
      text: `Every ready message of ${name} will be thrown away. They can't be had back.`,
      doIt: "Purge",
    });
    if (answer === null) return;
    await this.#notice.during(button, async () => {
      await ask(path("queues", vhost, name, "contents"), { method: "DELETE" });
      return "Purged.";
    });
  }
}
