/** One queue: its numbers and their last minute, its bindings and consumers, what can be done. */

import { ask, path } from "./api.js";
import { LineChart } from "./chart.js";
import { element, replace, setText } from "./element.js";
import { bytes, count, rate, value } from "./format.js";
import { History, Rates } from "./history.js";
import { nodeWords } from "./nodes.js";
import { MovePanel } from "./move.js";
import { PeekPanel } from "./peek.js";
import { PublishPanel } from "./publish.js";
import { PurgePanel } from "./purge.js";
import { queueFeatures } from "./queue_features.js";
import { Table, facts, pairs } from "./table.js";

const COUNTED = ["publish", "deliver_get", "ack", "redeliver"];
const NUMBERS = [
  "Ready", "Unacked", "Consumers", "Bytes", "In memory", "Published", "Delivered", "Redelivered",
  "Acked",
];

export class QueueView {
  #pulse;
  #vhost;
  #name;
  #history = new History();
  #rates = new Rates();
  #home = element("span");
  #features = element("p", { class: "quiet" });
  #numbers = facts(NUMBERS);
  #depthChart = new LineChart(
    "Messages",
    [{ name: "ready", label: "ready" }, { name: "unacked", label: "unacked" }],
    count,
  );
  #rateChart = new LineChart(
    "Rates",
    [
      { name: "publish", label: "published" },
      { name: "deliver_get", label: "delivered" },
      { name: "ack", label: "acked" },
      { name: "redeliver", label: "redelivered" },
    ],
    rate,
  );
  #bindings = new Table(
    "Bindings of this queue",
    [
      { title: "From exchange", text: ({ source }) => source || "(default)" },
      { title: "Binding key", text: ({ routing_key: key }) => key },
      { title: "Arguments", text: (row) => argumentText(row.arguments) },
    ],
    (row) => JSON.stringify([row.source, row.properties_key]),
  );
  #consumers = new Table(
    "Consumers of this queue",
    [
      { title: "Tag", text: (row) => row.consumer_tag },
      { title: "Connection", text: (row) => row.channel_details?.name ?? "" },
      {
        title: "Node",
        text: (row) => nodeWords(row.channel_details ?? {}),
        shown: () => this.#pulse.hasPeers,
      },
      { title: "Acks", text: (row) => (row.ack_required ? "needed" : "automatic") },
      { title: "Prefetch", text: (row) => count(row.prefetch_count), number: true },
      { title: "State", text: consumerState },
    ],
    (row) => JSON.stringify([row.channel_details?.name, row.consumer_tag]),
    { empty: "Nobody consumes." },
  );
  #arguments = element("div");

  constructor(pulse, vhost, name) {
    this.#pulse = pulse;
    this.#vhost = vhost;
    this.#name = name;
    this.title = `Queue ${name}`;
    this.element = element(
      "div",
      {},
      element("p", {}, element("a", { href: "#/queues" }, "← All queues")),
      element("h1", {}, name),
      element("p", {}, "In virtual host ", element("b", {}, vhost), this.#home),
      this.#features,
      this.#numbers.element,
      element("div", { class: "pair" }, this.#rateChart.element, this.#depthChart.element),
      new PeekPanel(vhost, name).element,
      new PublishPanel(vhost, name).element,
      element(
        "div",
        { class: "pair" },
        new MovePanel(vhost, name).element,
        new PurgePanel(vhost, name).element,
      ),
      panel("Consumers", this.#consumers.element),
      panel("Bindings", this.#bindings.element),
      this.#arguments,
    );
  }

  async refresh(missing) {
    const [queue, bindings] = await Promise.all([
      ask(path("queues", this.#vhost, this.#name), { missing }),
      ask(path("queues", this.#vhost, this.#name, "bindings")),
    ]);
    this.#show(queue, Date.now());
    this.#bindings.fill(bindings);
    this.#consumers.fill(queue.consumer_details ?? []);
  }

  #show(queue, now) {
    const stats = queue.message_stats ?? {};
    const { messages_ready: ready, messages_unacknowledged: unacked } = queue;
    this.#history.add(now, { ...this.#rates.of(now, stats, COUNTED), ready, unacked });
    this.#rateChart.draw(this.#history, now);
    this.#depthChart.draw(this.#history, now);
    const values = [
      count(ready), count(unacked), count(queue.consumers), bytes(queue.message_bytes),
      bytes(queue.memory), count(stats.publish ?? 0), count(stats.deliver_get ?? 0),
      count(stats.redeliver ?? 0), count(stats.ack ?? 0),
    ];
    NUMBERS.forEach((name, index) => this.#numbers.set(name, values[index]));
    setText(this.#home, this.#pulse.hasPeers ? `, at home on ${nodeWords(queue)}` : "");
    replace(this.#features, queueFeatures(queue).join(", "));
    const table = pairs("Arguments", argumentRows(queue.arguments));
    replace(this.#arguments, table === null ? null : panel(null, table));
  }
}

function panel(title, ...children) {
  const heading = title === null ? null : element("h2", {}, title);
  return element("section", { class: "panel" }, heading, children);
}

function argumentRows(table) {
  return Object.entries(table ?? {}).map(([name, any]) => [name, value(any)]);
}

function argumentText(table) {
  return argumentRows(table).map((row) => row.join(": ")).join(", ");
}

function consumerState({ active, activity_status: status }) {
  if (active === false) return "waiting for its turn";
  return status === "single_active" ? "the one active" : "active";
}
