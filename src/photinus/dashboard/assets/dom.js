// Elements are made from names, attributes and text nodes: nothing a person typed is ever read as markup.

const SVG = "http://www.w3.org/2000/svg";

const fill = (node, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on")
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "value" && "value" in node) node.value = value;
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  node.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
};

export const el = (name, attributes = {}, ...children) =>
  fill(document.createElement(name), attributes, children);

export const svg = (name, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, name), attributes, children);

/** Text of a user: kept apart from what stands around it, whichever way it is written. */
export const theirs = (text, attributes = {}) => el("bdi", attributes, String(text));

export const replace = (node, ...children) => {
  node.replaceChildren(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
};

const FOCUSABLE = "a[href], button, input, select, summary, [tabindex]";

/** Draw something anew without taking the focus from whoever works inside it by keyboard. */
export const keepFocus = (node, draw) => {
  const index = [...node.querySelectorAll(FOCUSABLE)].indexOf(document.activeElement);
  draw();
  if (index >= 0) node.querySelectorAll(FOCUSABLE)[index]?.focus({ preventScroll: true });
};

/** Fill a select with options, keeping its choice where that is still there. */
export const setOptions = (select, options) => {
  const chosen = select.value;
  replace(
    select,
    options.map(([value, label]) => el("option", { value }, label)),
  );
  if (options.some(([value]) => String(value) === chosen)) select.value = chosen;
};

let lastId = 0;

export const newId = (stem) => `${stem}-${++lastId}`;

/** A colour of the style sheet as it is in this theme, for what is drawn on a canvas. */
export const colour = (name) => {
  const probe = el("span", { class: "probe" });
  probe.style.color = `var(--${name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
};

/** Call `task` with the width of an element whenever that changes; returns what ends it. */
export const onWidth = (node, task) => {
  let width = 0;
  const watcher = new ResizeObserver(() => {
    if (node.clientWidth && node.clientWidth !== width) task((width = node.clientWidth));
  });
  watcher.observe(node);
  return () => watcher.disconnect();
};
