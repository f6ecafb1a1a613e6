/** The management API: paths, requests, and refusals in words. */

import { authorization } from "./session.js";

const TIMEOUT_MS = 40000; // the broker itself waits 30 s for its disk

/** What the broker refused, or why it could not be asked (`status` 0). */
export class ApiFailure extends Error {
  constructor(status, reason) {
    super(reason);
    this.status = status;
  }
}

/** `/api/` and the parts, each percent-encoded: a name may have a slash in it. */
export function path(...parts) {
  return `/api/${parts.map(encodeURIComponent).join("/")}`;
}

/** `address` with the query parameters that are not empty. */
export function withQuery(address, parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  return query.size ? `${address}?${query}` : address;
}

/** The answer's JSON, or null for none; `missing` is told whose part is not in it. Throws
 *  ApiFailure. */
export async function ask(address, { method = "GET", body, headers = {}, missing } = {}) {
  const wanted = { accept: "application/json", ...headers };
  const login = authorization();
  if (login !== null) wanted.authorization = login;
  if (body !== undefined) wanted["content-type"] = "application/json";
  let answer;
  try {
    answer = await fetch(address, {
      method,
      headers: wanted,
      body: body === undefined ? undefined : JSON.stringify(body),
      cache: "no-store",
      // The login is ours to send: the browser neither remembers it nor asks for one itself.
      credentials: "omit",
      redirect: "error",
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    missing?.take(answer.headers);
    const text = await answer.text();
    if (answer.ok) return text === "" ? null : JSON.parse(text);
    throw new ApiFailure(answer.status, reasonOf(text) || `HTTP ${answer.status}`);
  } catch (error) {
    if (error instanceof ApiFailure) throw error;
    if (answer?.ok) throw new ApiFailure(answer.status, "The broker's answer can't be read.");
    throw new ApiFailure(0, "The broker does not answer.");
  }
}

function reasonOf(text) {
  try {
    const { reason, error } = JSON.parse(text);
    return typeof reason === "string" ? reason : String(error ?? "");
  } catch {
    return "";
  }
}
