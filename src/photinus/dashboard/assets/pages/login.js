// Logging in: the token is exchanged for a cookie that scripts cannot read.

import { api } from "/static/api.js";
import { el } from "/static/dom.js";
import { busy, field, textInput } from "/static/forms.js";
import { navigate } from "/static/routes.js";
import { session } from "/static/session.js";

/** Only a path of this server: an address from elsewhere in a link must not lead away from here. */
const destination = (query) => {
  const next = query.get("next") ?? "/";
  const address = new URL(next, location.origin);
  return address.origin === location.origin && next.startsWith("/") ? address.pathname + address.search : "/";
};

/** The server's words about a token that it does not know are for programs: they name the header to send. */
const refusal = ({ status, message }) =>
  status === 401 && message.includes("not valid")
    ? "This token is not valid here. Was all of it copied, from pho_ to its end?"
    : message;

export const openPage = (main, { query }) => {
  document.title = "Log in · Photinus";
  const token = field(
    "Token",
    textInput({ type: "password", name: "token", required: true, placeholder: "pho_…" }),
    {
      hint: "Made by whoever runs this server, with the command photinus token create.",
    },
  );
  const button = el("button", { type: "submit", class: "primary" }, "Log in");
  const form = el(
    "form",
    { class: "card login", novalidate: true },
    el("h1", {}, "Log in"),
    token.node,
    el("p", { class: "actions" }, button),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    busy(button, async () => {
      if (!token.input.value.trim()) return token.fail("Paste a token here.");
      try {
        await api.logIn(token.input.value.trim());
        await session.load();
      } catch (error) {
        token.fail(refusal(error));
        token.input.select();
        return;
      }
      navigate(destination(query), { isReplaced: true });
    });
  });
  main.append(form);
  token.input.focus();
  return {};
};
