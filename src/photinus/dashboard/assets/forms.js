// Fields with their labels, hints and errors.

import { el, newId } from "/static/dom.js";

/** A labelled control: `field.node` for the page, `field.input`, and `field.fail(text)` to say what is wrong. */
export const field = (label, input, { hint = "", isInline = false } = {}) => {
  const id = newId("field");
  const error = el("p", { class: "error", id: `${id}-error`, role: "alert", hidden: true });
  input.id = id;
  const described = hint ? `${id}-hint ${id}-error` : `${id}-error`;
  input.setAttribute("aria-describedby", described);
  const node = el(
    "div",
    { class: isInline ? "field inline" : "field" },
    el("label", { for: id }, label),
    input,
    hint && el("p", { class: "hint", id: `${id}-hint` }, hint),
    error,
  );
  const fail = (text) => {
    error.textContent = text ?? "";
    error.hidden = !text;
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
  };
  input.addEventListener("input", () => fail(null));
  return { node, input, fail };
};

export const textInput = (attributes = {}) =>
  el("input", {
    type: "text",
    autocomplete: "off",
    autocapitalize: "off",
    spellcheck: "false",
    ...attributes,
  });

export const choice = (options, value, attributes = {}) => {
  const select = el(
    "select",
    attributes,
    options.map(([key, label]) => el("option", { value: key }, label)),
  );
  if (value !== undefined) select.value = value;
  return select;
};

/** The place where a form says what no field is to blame for. */
export const formError = () => {
  const node = el("p", { class: "error form-error", role: "alert", hidden: true });
  return {
    node,
    fail: (text) => {
      node.textContent = text ?? "";
      node.hidden = !text;
    },
  };
};

/** Runs `task` while the button shows that something is going on; a second press does nothing meanwhile. */
export const busy = async (button, task) => {
  if (button.getAttribute("aria-busy") === "true") return undefined;
  button.setAttribute("aria-busy", "true");
  try {
    return await task();
  } finally {
    button.removeAttribute("aria-busy");
  }
};
