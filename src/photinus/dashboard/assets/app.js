// Where everything begins: the frame around the pages, and which page is open.

import { Away, api } from "/static/api.js";
import { closeDialogs, toast } from "/static/dialogs.js";
import { el, replace, theirs } from "/static/dom.js";
import { connection, sayAway, sayBack } from "/static/live.js";
import { followLinks, here, navigate } from "/static/routes.js";
import { session } from "/static/session.js";
import { startTheme, themeSwitch } from "/static/theme.js";
import { hideTip } from "/static/tooltip.js";
import { emptyState, loadingState } from "/static/parts.js";

const main = document.getElementById("main");
const banner = document.getElementById("banner");
let open = null; // { path, page }: where we are, and what the module of the page gave back
let turns = 0;

const link = (address, text, place) =>
  el(
    "a",
    { href: address, "aria-current": place.path === address ? "page" : null },
    el("span", { data: { text } }, text),
  );

const drawFrame = (place) => {
  const links = session.isKnown
    ? [
        link("/", "Studies", place),
        link("/compare", "Compare", place),
        session.canWrite && link("/new", "New study", place),
      ]
    : [];
  replace(document.getElementById("nav"), links);
  const isGuest = session.isKnown && !session.needsTokens;
  replace(
    document.getElementById("person"),
    session.isKnown &&
      !isGuest &&
      el("span", { class: "who", title: `role ${session.role}` }, theirs(session.name ?? session.role)),
    session.isKnown &&
      !isGuest &&
      el("button", { type: "button", class: "ghost", on: { click: logOut } }, "Log out"),
    themeSwitch(),
  );
};

const logOut = async () => {
  try {
    await api.logOut();
  } catch (error) {
    toast(error.message, "bad");
    return;
  }
  session.forget();
  navigate("/login");
};

/** Open the page of the address; a page that can follow a change of its own address stays. */
const show = async ({ isNew }) => {
  const place = here();
  if (!isNew && open?.path === place.path && open.page.moved) return open.page.moved(place.query);
  const turn = ++turns;
  open?.page.close?.();
  open = null;
  hideTip();
  closeDialogs();
  if (!session.isKnown && place.name !== "login") {
    replace(main, loadingState());
    if (!(await meet())) return;
  }
  drawFrame(place);
  const { openPage } = await import(`/static/pages/${place.name}.js`);
  if (turn !== turns) return; // somebody was quicker
  replace(main);
  document.title = "Photinus";
  open = { path: place.path, page: openPage(main, place) };
  if (isNew) {
    window.scrollTo(0, 0);
    main.focus({ preventScroll: true });
  }
};

/** Learn who we are; while the server is away, ask again. */
const meet = async () => {
  for (let wait = 1000; ; wait = Math.min(wait * 2, 30000)) {
    try {
      await session.load();
      sayBack();
      return true;
    } catch (error) {
      if (error.status === 401) return false; // on the way to the login
      if (!(error instanceof Away) && error.status < 500) {
        replace(main, emptyState("The server refused", error.message));
        return false;
      }
      sayAway(wait);
      await new Promise((resolve) => {
        setTimeout(resolve, wait);
        connection.addEventListener("again", resolve, { once: true });
      });
    }
  }
};

const drawBanner = (wait) => {
  const again = el(
    "button",
    { type: "button", on: { click: () => connection.dispatchEvent(new CustomEvent("again")) } },
    "Try now",
  );
  const seconds = Math.max(1, Math.round(wait / 1000));
  replace(
    banner,
    el("span", {}, `The server does not answer. What you see may be old; next try in ${seconds} s.`),
    again,
  );
  banner.hidden = false;
};

connection.addEventListener("away", (event) => drawBanner(event.detail));
connection.addEventListener("back", () => (banner.hidden = true));
window.addEventListener("photinus:moved", (event) => show(event.detail));
window.addEventListener("photinus:stranger", () => {
  session.forget();
  if (here().name !== "login")
    navigate(`/login?next=${encodeURIComponent(location.pathname + location.search)}`, { isReplaced: true });
});

startTheme();
followLinks();
show({ isNew: true });
