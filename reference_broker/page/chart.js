/** A line chart of the last minute, as SVG. Its label says the newest values in words. */

import { element, replace, setText, svg } from "./element.js";
import { WINDOW_MS } from "./history.js";

const WIDTH = 560;
const HEIGHT = 170;
const LEFT = 56;
const RIGHT = 8;
const TOP = 10;
const BOTTOM = 22;
const GRID_LINES = 4;

/** A round number that is at least `largest`, and is divided well by the grid. */
export function ceiling(largest) {
  if (!(largest > 0)) return GRID_LINES;
  const power = 10 ** Math.floor(Math.log10(largest));
  const step = [1, 2, 4, 8, 10].find((each) => each * power >= largest);
  return Math.max(step * power, GRID_LINES);
}

export class LineChart {
  #title;
  #series;
  #format;
  #drawing;
  #legend;

  /** `series` is a list of `{name, label}`: the name in the History, and the word in the legend.
   *  The stylesheet gives the first, second ... one its colour and its dashes. */
  constructor(title, series, format) {
    this.#title = title;
    this.#series = series;
    this.#format = format;
    const viewBox = `0 0 ${WIDTH} ${HEIGHT}`;
    this.#drawing = svg("svg", { viewBox, role: "img", class: "chart" });
    this.#legend = series.map(({ label }, index) => {
      const value = element("b");
      const key = svg(
        "svg",
        { viewBox: "0 0 24 8", class: "key", "aria-hidden": "true" },
        svg("line", { x1: 0, x2: 24, y1: 4, y2: 4, class: `line line-${index + 1}` }),
      );
      return { value, item: element("li", {}, key, ` ${label} `, value) };
    });
    this.element = element(
      "figure",
      { class: "panel" },
      element("figcaption", {}, title, element("span", { class: "quiet" }, " – last minute")),
      this.#drawing,
      element("ul", { class: "legend" }, this.#legend.map(({ item }) => item)),
    );
  }

  draw(history, now) {
    const lines = this.#series.map(({ name }) => history.points(name));
    const top = ceiling(Math.max(0, ...lines.flat().map((point) => point.value)));
    const x = (at) => LEFT + (WIDTH - LEFT - RIGHT) * (1 - (now - at) / WINDOW_MS);
    const y = (value) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
    replace(
      this.#drawing,
      this.#grid(top, y),
      lines.map((points, index) =>
        svg("polyline", {
          class: `line line-${index + 1}`,
          points: points.map(({ at, value }) => `${fixed(x(at))},${fixed(y(value))}`).join(" "),
        }),
      ),
    );
    const words = this.#series.map(({ label }, index) => {
      const newest = lines[index].at(-1);
      const text = newest === undefined ? "–" : this.#format(newest.value);
      setText(this.#legend[index].value, text);
      return `${label} ${text}`;
    });
    this.#drawing.setAttribute("aria-label", `${this.#title}: ${words.join(", ")}`);
  }

  #grid(top, y) {
    const marks = Array.from({ length: GRID_LINES + 1 }, (_, index) => (top * index) / GRID_LINES);
    const times = [60, 45, 30, 15, 0].map((seconds, index) =>
      svg(
        "text",
        {
          x: LEFT + ((WIDTH - LEFT - RIGHT) * index) / 4,
          y: HEIGHT - 6,
          class: "mark",
          "text-anchor": index === 4 ? "end" : "middle",
        },
        seconds === 0 ? "now" : `−${seconds} s`,
      ),
    );
    return marks
      .map((value) => [
        svg("line", { x1: LEFT, x2: WIDTH - RIGHT, y1: y(value), y2: y(value), class: "grid" }),
        svg(
          "text",
          { x: LEFT - 6, y: y(value) + 4, class: "mark", "text-anchor": "end" },
          this.#format(value),
        ),
      ])
      .concat(times);
  }
}

function fixed(number) {
  return number.toFixed(1);
}
