/** The nodes whose part is missing in what is shown, in words. */

import { list } from "./format.js";

const HEADERS = { unreachable: "x-mqkit-unreachable", cut: "x-mqkit-cut" };

export class Missing {
  #unreachable = new Set();
  #cut = new Set();

  /** What an answer's headers say of it. */
  take(headers) {
    this.add(named(headers.get(HEADERS.unreachable)));
    for (const node of named(headers.get(HEADERS.cut))) this.#cut.add(node);
  }

  /** Nodes that could not be asked. */
  add(nodes) {
    for (const node of nodes) this.#unreachable.add(node);
  }

  /** A sentence or two; empty where nothing is missing. */
  words() {
    return [
      says(this.#unreachable, "did not answer within a second: what is there is not shown."),
      says(this.#cut, "had more to tell than fits a second: a part of it is not shown."),
    ].filter(Boolean).join(" ");
  }
}

function named(header) {
  return header ? header.split(",") : [];
}

function says(nodes, words) {
  return nodes.size > 0 && `${list([...nodes].sort())} ${words}`;
}
