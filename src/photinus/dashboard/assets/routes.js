// Addresses and pages. Moving between pages never reloads; a page is closed before the next one opens.

const PAGES = [
  [/^\/(?:studies\/?)?$/, "studies"],
  [/^\/new$/, "create"],
  [/^\/compare$/, "compare"],
  [/^\/login$/, "login"],
  [/^\/studies\/(?<study>\d+)$/, "study"],
  [/^\/studies\/(?<study>\d+)\/trials\/(?<number>\d+)$/, "trial"],
];

const find = (path) => {
  for (const [pattern, name] of PAGES) {
    const match = pattern.exec(path);
    if (match) return { name, ids: match.groups ?? {} };
  }
  return { name: "missing", ids: {} };
};

/** Where we are: the page's module, the numbers in its path, and its query. */
export const here = () => ({
  ...find(location.pathname),
  query: new URLSearchParams(location.search),
  path: location.pathname,
});

const moved = (detail) => window.dispatchEvent(new CustomEvent("photinus:moved", { detail }));

export const navigate = (address, { isReplaced = false } = {}) => {
  if (isReplaced) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
  moved({ isNew: true });
};

/** Change the query without opening the page again; an empty value takes the key away. */
export const setQuery = (changes, { isReplaced = true } = {}) => {
  const query = new URLSearchParams(location.search);
  for (const [key, value] of Object.entries(changes)) {
    if (value) query.set(key, value);
    else query.delete(key);
  }
  const text = query.toString();
  const address = text ? `${location.pathname}?${text}` : location.pathname;
  if (isReplaced) history.replaceState(null, "", address);
  else history.pushState(null, "", address);
};

/** Links of our own pages are followed here; everything else is the browser's. */
export const followLinks = () => {
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[href]");
    if (!link || event.defaultPrevented || event.button !== 0) return;
    if (
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey ||
      link.target ||
      link.hasAttribute("download")
    )
      return;
    const address = new URL(link.href);
    if (
      address.origin !== location.origin ||
      address.pathname.startsWith("/api/") ||
      link.getAttribute("href").startsWith("#")
    )
      return;
    event.preventDefault();
    navigate(address.pathname + address.search);
  });
  window.addEventListener("popstate", () => moved({ isNew: false }));
};

export const studyPath = (id) => `/studies/${id}`;
export const trialPath = (id, number) => `/studies/${id}/trials/${number}`;
