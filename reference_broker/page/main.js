/** The page itself: logging in, which view is shown, and when it asks again. */

import { ApiFailure, ask, path } from "./api.js";
import { ConnectionsView } from "./connections.js";
import { DeadLettersView } from "./dead_letters.js";
import { element, replace, setText } from "./element.js";
import { Missing } from "./missing.js";
import { OverviewView } from "./overview.js";
import { Pulse } from "./pulse.js";
import { QueueView } from "./queue.js";
import { QueuesView } from "./queues.js";
import { authorization, begin, end } from "./session.js";

const REFRESH_MS = 2000;
const SLOW_REFRESH_MS = 10000; // what reads whole lists

const byId = (id) => document.getElementById(id);
const top = byId("top");
const login = byId("login");
const place = byId("view");
const trouble = byId("trouble");
const missingLine = byId("missing");

let pulse = new Pulse();
let view = null;
let timer = 0;
let turn = 0;

/** The view that an address names; the overview for one that names none. */
function viewFor(address) {
  const [noun, ...names] = address.replace(/^#\/?/, "").split("/").map(decoded);
  if (noun === "queues" && names.length === 2) return new QueueView(pulse, ...names);
  if (noun === "queues") return new QueuesView(pulse);
  if (noun === "connections") return new ConnectionsView(pulse);
  if (noun === "dead-letters") return Object.assign(new DeadLettersView(), { slow: true });
  return new OverviewView(pulse);
}

function decoded(part) {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

function showView() {
  view = viewFor(location.hash);
  document.title = `${view.title} – mqkit broker`;
  const noun = location.hash.replace(/^#\/?/, "").split("/")[0] || "overview";
  for (const link of top.querySelectorAll("nav a")) {
    link.ariaCurrent = link.hash === `#/${noun}` ? "page" : null;
  }
  replace(place, view.element);
  refresh();
}

/** Ask for everything that is shown, and again later. Only the newest call goes on. */
async function refresh() {
  clearTimeout(timer);
  turn += 1;
  const mine = turn;
  const missing = new Missing();
  try {
    await pulse.refresh(missing);
    if (mine !== turn) return;
    await view.refresh(missing);
    if (mine !== turn) return;
    say(trouble, "");
    say(missingLine, missing.words());
  } catch (error) {
    if (mine !== turn) return;
    if (error instanceof ApiFailure && error.status === 401 && !(await stillKnown())) {
      showLogin("Log in again: the broker does not take this login any more.");
      return;
    }
    say(trouble, error.status === 404 ? goneWords(missing) : error.message);
    if (!(error instanceof ApiFailure)) console.error(error);
  }
  if (mine === turn) {
    timer = setTimeout(whenSeen, view.slow === true ? SLOW_REFRESH_MS : REFRESH_MS);
  }
}

/** A tab that nobody looks at asks for nothing. */
function whenSeen() {
  if (!document.hidden) refresh();
}

/** 401 is also the answer to somebody whose tags do not suffice. */
async function stillKnown() {
  try {
    await ask(path("whoami"));
    return true;
  } catch (error) {
    return error.status !== 401;
  }
}

/** It may be of a node that could not be asked. */
function goneWords(missing) {
  return missing.words() ? `This is not found. ${missing.words()}` : "This is gone.";
}

function say(line, text) {
  line.hidden = text === "";
  setText(line, text);
}

function showLogin(text) {
  clearTimeout(timer);
  turn += 1;
  view = null;
  end();
  say(trouble, "");
  say(missingLine, "");
  replace(place);
  top.hidden = true;
  login.hidden = false;
  document.title = "Log in – mqkit broker";
  setText(byId("login-trouble"), text);
  byId("login-name").focus();
}

async function enter() {
  const { name, tags } = await ask(path("whoami"));
  replace(byId("who"), "Logged in as ", element("b", {}, name), tags.length ? ` (${tags})` : "");
  login.hidden = true;
  login.reset();
  top.hidden = false;
  pulse = new Pulse();
  showView();
}

async function tryToEnter() {
  try {
    await enter();
  } catch (error) {
    showLogin(error.status === 401 ? "Wrong user or password." : error.message);
  }
}

login.addEventListener("submit", (event) => {
  event.preventDefault();
  begin(byId("login-name").value, byId("login-password").value);
  tryToEnter();
});
byId("logout").addEventListener("click", () => showLogin(""));
byId("skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address says which view is shown
  byId("content").focus();
});
place.addEventListener("refresh", () => refresh());
window.addEventListener("hashchange", () => view !== null && showView());
document.addEventListener("visibilitychange", () => view !== null && whenSeen());

if (authorization() === null) showLogin("");
else tryToEnter();
