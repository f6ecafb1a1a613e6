/**
 * Who is logged in: the value of the Authorization header, in this tab's sessionStorage.
 *
 * There, a reload keeps it, and closing the tab forgets it; no other tab or site sees it. A cookie
 * would be sent along with requests that other sites make, localStorage would outlive the browser,
 * and a URL is written into histories and logs.
 */

const KEY = "mqkit.authorization";

export function authorization() {
  return sessionStorage.getItem(KEY);
}

/** HTTP Basic (RFC 7617), in UTF-8. */
export function begin(name, password) {
  const octets = new TextEncoder().encode(`${name}:${password}`);
  sessionStorage.setItem(KEY, `Basic ${btoa(String.fromCharCode(...octets))}`);
}

export function end() {
  sessionStorage.removeItem(KEY);
}
