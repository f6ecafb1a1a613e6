/**
 * Elements. Every one that this page adds is made here, and whatever is put into one becomes a text
 * node: a name that looks like markup stays a name.
 */

const SVG = "http://www.w3.org/2000/svg";

/** An HTML element. Attributes that are functions are listeners; null, undefined and false are
 *  left out. Children are nodes or texts, and may be nested in arrays. */
export function element(name, attributes = {}, ...children) {
  return fill(document.createElement(name), attributes, children);
}

/** The same for SVG. */
export function svg(name, attributes = {}, ...children) {
  return fill(document.createElementNS(SVG, name), attributes, children);
}

/** Put `children` in the place of what `parent` has. */
export function replace(parent, ...children) {
  parent.replaceChildren(...nodes(children));
}

/** Set a text, and leave the document alone when it is the same: a selection stays. */
export function setText(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

function fill(made, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name, value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...nodes(children));
  return made;
}

function nodes(children) {
  return children
    .flat(Infinity)
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : document.createTextNode(String(child))));
}
