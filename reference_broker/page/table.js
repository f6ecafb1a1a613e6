/**
 * A table that is filled again and again. A row stays the same element as long as its key does, so
 * that the keyboard's focus and a selection outlive a refresh.
 */

import { element, replace, setText } from "./element.js";

export class Table {
  #columns;
  #keyOf;
  #rows = new Map();
  #body = element("tbody");
  #headings;
  #empty;

  /**
   * A column has a `title`, and either `text(row)`, which is written at each refresh, or
   * `make(row)`, nodes that are made once for each key. `number: true` aligns right. With `sort`,
   * the name that the API sorts by, its title is a button that calls `onSort`. With `shown`, a
   * function, it is there only while that says so.
   */
  constructor(caption, columns, keyOf, { onSort = null, empty = "None." } = {}) {
    this.#columns = columns;
    this.#keyOf = keyOf;
    this.#headings = columns.map((column) => {
      const sorts = onSort !== null && column.sort !== undefined;
      const press = () => onSort(column.sort);
      const title = sorts
        ? element("button", { type: "button", click: press }, column.title)
        : column.title;
      return element("th", { scope: "col", class: column.number && "number" }, title);
    });
    this.#empty = element("p", { class: "quiet", hidden: true }, empty);
    this.element = element(
      "div",
      { class: "table" },
      element(
        "table",
        {},
        element("caption", { class: "unseen" }, caption),
        element("thead", {}, element("tr", {}, this.#headings)),
        this.#body,
      ),
      this.#empty,
    );
  }

  /** Show what the rows are sorted by: a column's `sort`, and whether the largest comes first. */
  sorted(by, descending) {
    this.#columns.forEach((column, index) => {
      const heading = this.#headings[index];
      if (column.sort === by) heading.ariaSort = descending ? "descending" : "ascending";
      else heading.ariaSort = null;
    });
  }

  fill(rows) {
    const hidden = this.#columns.map(({ shown }) => shown !== undefined && !shown());
    this.#headings.forEach((heading, index) => (heading.hidden = hidden[index]));
    const before = this.#rows;
    const keys = new Set(rows.map(this.#keyOf));
    for (const [key, line] of before) if (!keys.has(key)) line.remove();
    this.#rows = new Map();
    let place = this.#body.firstElementChild;
    for (const row of rows) {
      const key = this.#keyOf(row);
      const line = before.get(key) ?? this.#line(row);
      this.#rows.set(key, line);
      this.#columns.forEach((column, index) => {
        const cell = line.children[index];
        cell.hidden = hidden[index];
        if (column.text !== undefined) setText(cell, hidden[index] ? "" : column.text(row));
      });
      if (line === place) place = place.nextElementSibling;
      else this.#body.insertBefore(line, place);
    }
    this.#empty.hidden = rows.length > 0;
  }

  #line(row) {
    return element(
      "tr",
      {},
      this.#columns.map((column) =>
        element(
          "td",
          { "data-label": column.title, class: column.number && "number" },
          column.make === undefined ? null : column.make(row),
        ),
      ),
    );
  }
}

/** Names and values as a list: a Map of the values' elements, for `setText`. */
export function facts(names) {
  const values = new Map(names.map((name) => [name, element("dd")]));
  const list = element(
    "dl",
    { class: "facts" },
    names.map((name) => element("div", {}, element("dt", {}, name), values.get(name))),
  );
  return { element: list, set: (name, text) => setText(values.get(name), text) };
}

/** Names and values that don't change, as a table of two columns. */
export function pairs(caption, entries) {
  if (entries.length === 0) return null;
  const body = element("tbody");
  replace(
    body,
    entries.map(([name, text]) =>
      element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, text)),
    ),
  );
  return element("table", { class: "pairs" }, element("caption", {}, caption), body);
}
