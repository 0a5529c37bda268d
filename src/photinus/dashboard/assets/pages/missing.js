// An address that no page has.

import { el } from "/static/dom.js";
import { emptyState } from "/static/parts.js";

export const openPage = (main) => {
  document.title = "Not found · Photinus";
  main.append(
    emptyState(
      "There is no such page",
      "The address may be mistyped, or the link is old.",
      el("a", { href: "/", class: "button" }, "All studies"),
    ),
  );
  return {};
};
