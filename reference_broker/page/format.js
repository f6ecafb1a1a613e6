/** Numbers, sizes and times as people read them. Pure. */

const WHOLE = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 0 });
const TENTHS = new Intl.NumberFormat("en-GB", { maximumFractionDigits: 1 });
const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];

/** 12345 is "12,345"; what is no number is a dash. */
export function count(value) {
  return Number.isFinite(value) ? WHOLE.format(value) : "–";
}

/** Messages a second; tenths below 100. */
export function rate(value) {
  if (!Number.isFinite(value)) return "–";
  return `${(value < 100 ? TENTHS : WHOLE).format(value)}/s`;
}

/** 1536 is "1.5 KiB". */
export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  let scaled = value;
  let unit = 0;
  while (scaled >= 1024 && unit < UNITS.length - 1) {
    scaled /= 1024;
    unit += 1;
  }
  return `${TENTHS.format(scaled)} ${UNITS[unit]}`;
}

/** Milliseconds since 1970 as "2026-11-20 16:02 UTC". */
export function moment(milliseconds) {
  const date = new Date(milliseconds);
  if (Number.isNaN(date.getTime())) return "an unknown time";
  const text = date.toISOString();
  return `${text.slice(0, 10)} ${text.slice(11, 16)} UTC`;
}

/** Milliseconds as "3 d 4 h", "2 min 5 s": the two largest units. */
export function duration(milliseconds) {
  const seconds = Math.max(0, Math.floor(milliseconds / 1000));
  const parts = [
    [Math.floor(seconds / 86400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "min"],
    [seconds % 60, "s"],
  ];
  const first = parts.findIndex(([amount]) => amount > 0);
  if (first < 0) return "0 s";
  return parts
    .slice(first, first + 2)
    .filter(([amount]) => amount > 0)
    .map(([amount, unit]) => `${amount} ${unit}`)
    .join(" ");
}

/** "1 message", "2 messages". */
export function counted(amount, noun) {
  return `${count(amount)} ${noun}${amount === 1 ? "" : "s"}`;
}

/** A field table's value: texts as they are, the rest as JSON. */
export function value(any) {
  return typeof any === "string" ? any : JSON.stringify(any);
}

/** ["a", "b", "c"] is "a, b and c". */
export function list(words) {
  const last = words.length - 1;
  return last < 1 ? words.join() : `${words.slice(0, last).join(", ")} and ${words[last]}`;
}
