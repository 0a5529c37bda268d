// Dialogs, messages that go away by themselves, and text to copy.

import { el, newId, theirs } from "/static/dom.js";

const TOAST_MS = 6000;

/** A modal dialog; `make(close)` returns its content. Resolves to what `close` is given, undefined when it is left. */
export const openDialog = (title, make, { isWide = false } = {}) =>
  new Promise((resolve) => {
    const id = newId("dialog");
    let result;
    const dialog = el("dialog", { class: isWide ? "dialog wide" : "dialog", "aria-labelledby": id });
    const close = (value) => {
      result = value;
      dialog.close();
    };
    dialog.append(
      el(
        "div",
        { class: "dialog-head" },
        el("h2", { id }, title),
        el(
          "button",
          { type: "button", class: "ghost icon", "aria-label": "Close", on: { click: () => close() } },
          "✕",
        ),
      ),
      ...[make(close)].flat(),
    );
    dialog.addEventListener("click", (event) => event.target === dialog && close());
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(result);
    });
    document.body.append(dialog);
    dialog.showModal();
  });

/** Close whatever is open: the page under it has changed. */
export const closeDialogs = () =>
  document.querySelectorAll("dialog[open]").forEach((dialog) => dialog.close());

export const toast = (text, kind = "good") => {
  const box = el(
    "div",
    { class: `toast ${kind}` },
    el("i", { "aria-hidden": "true" }),
    el("span", {}, theirs(text)),
  );
  document.getElementById("toasts").append(box);
  setTimeout(() => box.remove(), TOAST_MS);
};

/** Pages that are not served by HTTPS or from this machine have no clipboard; a selection can be copied anywhere. */
const copyText = async (source) => {
  if (navigator.clipboard) return navigator.clipboard.writeText(source.textContent);
  const range = document.createRange();
  range.selectNodeContents(source);
  getSelection().removeAllRanges();
  getSelection().addRange(range);
  document.execCommand("copy");
};

/** Code in a box, under its title and a button that copies it. */
export const codeBox = (title, text, label) => {
  const code = el("code", {}, text);
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy ${label}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await copyText(code);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select and copy by hand";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });
  return el(
    "div",
    { class: "code" },
    el("div", { class: "code-head" }, el("span", {}, title), button),
    el("pre", { tabindex: 0, "aria-label": label }, code),
  );
};
