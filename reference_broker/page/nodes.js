/** The nodes of a cluster: who is there, how each of them is, and which one this page asks. */

import { ask, path, withQuery } from "./api.js";
import { element } from "./element.js";
import { bytes, count, counted, duration } from "./format.js";
import { Table } from "./table.js";

const COLUMNS = [
  "name", "running", "uptime", "sockets_used", "mem_used", "mem_alarm", "disk_free",
  "disk_free_alarm", "cluster_links",
].join();

const STATES = { unreachable: "not reached" };

export class NodesPanel {
  #table = new Table(
    "Nodes",
    [
      { title: "Node", text: ({ name, isHere }) => (isHere ? `${name} (this one)` : name) },
      { title: "State", text: stateWords },
      { title: "Up for", text: ({ uptime }) => (uptime === undefined ? "–" : duration(uptime)) },
      { title: "Connections", text: (row) => count(row.sockets_used), number: true },
      { title: "Queues", text: (row) => count(row.queues), number: true },
      { title: "Memory", text: (row) => bytes(row.mem_used), number: true },
      { title: "Disk free", text: (row) => bytes(row.disk_free), number: true },
      { title: "Alarms", text: alarmWords },
      { title: "Links", text: linkWords, number: true },
    ],
    ({ name }) => name,
  );

  constructor() {
    this.element = element(
      "section",
      { class: "panel", "aria-label": "Nodes", hidden: true },
      element("h2", {}, "Nodes"),
      this.#table.element,
    );
  }

  /** Show the members that the pulse knows, if it knows any. */
  async refresh({ overview, members }, missing) {
    this.element.hidden = members === null;
    if (members === null) return;
    const rows = await ask(withQuery(path("nodes"), { columns: COLUMNS }), { missing });
    const known = new Map(rows.map((row) => [row.name, row]));
    const others = members.length - 1;
    this.#table.fill(
      members.map((member) => ({
        ...known.get(member.name),
        ...member,
        accepts: known.get(member.name)?.running,
        isHere: member.name === overview.node,
        others,
      })),
    );
  }
}

/** Sentences for the members that are not there. Pure. */
export function absences(members) {
  return members
    .filter(({ running }) => !running)
    .map(({ name, state, reason, queues }) => {
      if (state === "paused") return `${name} takes no clients${reason && `: ${reason}`}.`;
      const what = state === "down" ? "is down" : "can't be reached from this node";
      const unavailable = `${counted(queues, "queue")} ${queues === 1 ? "is" : "are"} unavailable`;
      return `${name} ${what}: ${queues > 0 ? unavailable : "it has no queue"}.`;
    });
}

/** The node of a queue, a connection or a consumer, in a table of them. Pure. */
export function nodeWords({ node, state }) {
  return state === "down" ? `${node}, down` : (node ?? "");
}

function stateWords({ state, accepts }) {
  if (state === "running" && accepts === false) return "paused";
  return STATES[state] ?? state;
}

function alarmWords({ mem_alarm: memory, disk_free_alarm: disk }) {
  if (memory === undefined) return "–";
  return [memory && "memory", disk && "disk"].filter(Boolean).join(", ") || "none";
}

function linkWords({ cluster_links: links, others }) {
  return links === undefined ? "–" : `${links.length} of ${others}`;
}
