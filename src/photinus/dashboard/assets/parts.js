// Pieces that several pages share.

import { el, theirs } from "/static/dom.js";
import { number, valueText } from "/static/format.js";

export const loadingState = (text = "Loading…") =>
  el("div", { class: "loading", role: "status" }, el("i", { class: "firefly", "aria-hidden": "true" }), text);

/** What stands where there is nothing to see, and what to do about it. */
export const emptyState = (title, text, ...actions) =>
  el(
    "div",
    { class: "empty-state" },
    el("h2", {}, title),
    el("p", {}, theirs(text)),
    actions.length ? el("p", { class: "actions" }, actions) : null,
  );

export const card = (title, ...content) =>
  el("section", { class: "card" }, title && el("h2", {}, title), content);

export const tile = (label, value, detail = "") =>
  el("div", { class: "tile" }, el("span", {}, label), el("strong", {}, value), el("small", {}, detail));

/** Facts as pairs; pairs without a value are left out. */
export const facts = (pairs) =>
  el(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value !== null && value !== undefined && value !== "")
      .map(([name, value]) => [el("dt", {}, name), el("dd", {}, value)]),
  );

/** Parameters of a trial as facts; the title has every digit. */
export const paramFacts = (params) =>
  facts(
    Object.entries(params).map(([name, value]) => [
      theirs(name),
      theirs(valueText(value), { title: String(value) }),
    ]),
  );

export const valueFacts = (values) =>
  facts(
    Object.entries(values ?? {}).map(([name, value]) => [
      theirs(name),
      el("b", { title: String(value) }, number(value)),
    ]),
  );

/** A plain table in a frame that scrolls by itself. */
export const plainTable = (header, rows, label) =>
  el(
    "div",
    { class: "table", tabindex: 0, role: "region", "aria-label": label },
    el(
      "table",
      {},
      el(
        "thead",
        {},
        el(
          "tr",
          {},
          header.map((cell) => el("th", { scope: "col" }, cell)),
        ),
      ),
      el(
        "tbody",
        {},
        rows.map((row) =>
          el(
            "tr",
            {},
            row.map((cell) => el("td", {}, cell)),
          ),
        ),
      ),
    ),
  );

/** Notes by name, without those in which the server keeps what only google-vizier clients understand. */
export const noteFacts = (notes) =>
  Object.entries(notes)
    .filter(([name]) => !name.startsWith(":vizier/"))
    .map(([name, text]) => [theirs(name), theirs(text)]);

export const heading = (text) => el("h1", {}, theirs(text));

/** The way back. */
export const crumbs = (...links) =>
  el(
    "nav",
    { class: "crumbs", "aria-label": "Where you are" },
    links.map(([address, text], i) => [
      i > 0 && el("span", { "aria-hidden": "true" }, "›"),
      el("a", { href: address }, theirs(text)),
    ]),
  );
