/** The first view: totals, their last minute, and how the node is. */

import { ApiFailure, ask, path } from "./api.js";
import { LineChart } from "./chart.js";
import { element, replace, setText } from "./element.js";
import { bytes, count, duration, rate } from "./format.js";
import { NodesPanel, absences } from "./nodes.js";
import { facts } from "./table.js";

const TOTALS = ["Ready", "Unacked", "Connections", "Channels", "Consumers", "Queues"];
const NODE = ["Name", "Version", "Up for", "Memory", "Disk free", "Files open", "Kept in"];

const ALARMS = [
  ["mem_alarm", "The broker uses more memory than its limit: publishers are held back."],
  ["disk_free_alarm", "The disk is nearly full: publishers are held back."],
];

export class OverviewView {
  title = "Overview";
  #pulse;
  #totals = facts(TOTALS);
  #node = facts(NODE);
  #alarms = element("div", { role: "status" });
  #nodes = new NodesPanel();
  #noNode = element("p", { class: "quiet", hidden: true });
  #depth = new LineChart(
    "Messages in queues",
    [{ name: "ready", label: "ready" }, { name: "unacked", label: "unacked" }],
    count,
  );
  #rates = new LineChart(
    "Message rates",
    [
      { name: "publish", label: "published" },
      { name: "deliver_get", label: "delivered" },
      { name: "ack", label: "acked" },
    ],
    rate,
  );

  constructor(pulse) {
    this.#pulse = pulse;
    this.#totals.element.classList.add("totals");
    this.element = element(
      "div",
      {},
      element("h1", {}, this.title),
      this.#alarms,
      this.#totals.element,
      element("div", { class: "pair" }, this.#rates.element, this.#depth.element),
      element(
        "section",
        { class: "panel", "aria-label": "Node" },
        element("h2", {}, "Node"),
        this.#node.element,
        this.#noNode,
      ),
      this.#nodes.element,
    );
  }

  async refresh(missing) {
    const { overview, history } = this.#pulse;
    const now = Date.now();
    this.#depth.draw(history, now);
    this.#rates.draw(history, now);
    const objects = overview.object_totals ?? {};
    const messages = overview.queue_totals ?? {};
    const totals = [
      messages.messages_ready, messages.messages_unacknowledged,
      objects.connections, objects.channels, objects.consumers, objects.queues,
    ];
    TOTALS.forEach((name, index) => this.#totals.set(name, count(totals[index])));
    await Promise.all([
      this.#refreshNode(overview),
      this.#nodes.refresh(this.#pulse, missing),
    ]);
  }

  async #refreshNode(overview) {
    let node;
    try {
      node = await ask(path("nodes", overview.node));
    } catch (error) {
      if (!(error instanceof ApiFailure) || error.status === 0) throw error;
      // Only a monitoring user may see nodes.
      this.#node.element.hidden = true;
      this.#noNode.hidden = false;
      setText(this.#noNode, `Not shown: ${error.message}`);
      return;
    }
    const { mem_used: memory, mem_limit: memoryLimit, disk_free: disk, uptime } = node;
    const values = [
      node.name,
      `${overview.product_name ?? "RabbitMQ"} ${overview.product_version ?? ""}`,
      duration(uptime),
      `${bytes(memory)} of at most ${bytes(memoryLimit)}`,
      `${bytes(disk)}, alarm below ${bytes(node.disk_free_limit)}`,
      `${count(node.fd_used)} of at most ${count(node.fd_total)}`,
      node.db_dir || "memory only",
    ];
    NODE.forEach((name, index) => this.#node.set(name, values[index]));
    const alarms = ALARMS.filter(([name]) => node[name] === true).map(([, words]) => words);
    this.#showAlarms([...alarms, ...absences(this.#pulse.members ?? [])]);
  }

  #showAlarms(words) {
    const shown = [...this.#alarms.children].map((child) => child.textContent);
    if (shown.join() === words.join()) return;
    replace(this.#alarms, words.map((text) => element("p", { class: "alarm" }, text)));
  }
}
