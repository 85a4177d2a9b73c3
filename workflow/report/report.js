"use strict";
// Without this script the page is one long document; with it, one part is shown at a time and claims can be filtered.
(() => {
  const root = document.documentElement;
  const main = document.querySelector("main");
  const pages = [...document.querySelectorAll("main > .page")];
  const field = (id) => document.getElementById(id);
  const filters = { q: field("filter-text"), document: field("filter-document"), study: field("filter-study"), verdict: field("filter-verdict") };
  root.classList.remove("no-script");

  // Filter of claims.
  const claims = [...document.querySelectorAll(".claim")].map((element) => ({ element, text: null }));
  const groups = [...document.querySelectorAll(".group")];
  const textOf = (claim) => {
    claim.text ??= `${claim.element.closest(".group").querySelector("h3").textContent} ${claim.element.textContent}`.toLowerCase();
    return claim.text;
  };
  const filter = () => {
    const words = filters.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const claim of claims) {
      const data = claim.element.dataset;
      const fits = ["document", "study", "verdict"].every((key) => !filters[key].value || filters[key].value === data[key])
        && words.every((word) => textOf(claim).includes(word));
      claim.element.hidden = !fits;
      shown += fits;
    }
    for (const group of groups) group.hidden = !group.querySelector(".claim:not([hidden])");
    for (const study of document.querySelectorAll(".study")) {
      study.classList.toggle("empty", !study.querySelector(".claim:not([hidden])"));
      study.hidden = main.classList.contains("view-claims") && study.classList.contains("empty");
    }
    field("claims-count").textContent = `${shown} of ${claims.length} claims`;
  };
  const remember = () => {
    const query = new URLSearchParams(Object.entries(filters).map(([key, input]) => [key, input.value]).filter(([, value]) => value));
    history.replaceState(null, "", `#claims${query.size ? `?${query}` : ""}`);
    filter();
  };
  for (const input of Object.values(filters)) input.addEventListener("input", remember);
  field("filter-clear").addEventListener("click", () => {
    for (const input of Object.values(filters)) input.value = "";
    remember();
    filters.q.focus();
  });

  // One part at a time, by the address after the #.
  const route = (first) => {
    const [name, query] = decodeURIComponent(location.hash.slice(1)).split("?");
    if (name === "main") return;
    const target = document.getElementById(name) ?? pages[0];
    const page = target.closest(".page") ?? pages[0];
    const isClaims = page.id === "claims";
    main.classList.toggle("view-claims", isClaims);
    const wanted = new URLSearchParams(isClaims ? query : "");
    for (const [key, input] of Object.entries(filters)) input.value = wanted.get(key) ?? "";
    filter();
    for (const other of pages) other.classList.toggle("current", other === page);
    for (const link of document.querySelectorAll(".side nav li a")) {
      if (link.hash === `#${page.id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const heading = page.querySelector("h1");
    document.title = `${heading.textContent} · auxmc`;
    if (matchMedia("(max-width: 60rem)").matches) field("menu").open = false;
    for (const group of groups) group.classList.toggle("sought", group === target);
    if (target.matches("details")) target.open = true;
    if (target.matches(".group")) for (const claim of target.querySelectorAll(".claim:not(.reproduced):not(.timing)")) claim.open = true;
    if (target === page) scrollTo({ top: 0, behavior: "instant" });
    else target.scrollIntoView({ behavior: "instant" });
    if (!first) {
      const spot = target === page ? heading : target;
      spot.setAttribute("tabindex", "-1");
      spot.focus({ preventScroll: true });
    }
  };
  addEventListener("hashchange", () => route(false));

  // Search in the list of code.
  const modules = [...document.querySelectorAll(".module")];
  field("code-text").addEventListener("input", (event) => {
    const words = event.target.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const module of modules) {
      const about = module.querySelector("summary").textContent.toLowerCase();
      let any = false;
      for (const row of module.querySelectorAll("tbody tr")) {
        const fits = words.every((word) => `${about} ${row.textContent.toLowerCase()}`.includes(word));
        row.hidden = !fits;
        any ||= fits;
        shown += fits;
      }
      module.hidden = !any;
      module.open = words.length > 0 && any;
    }
    for (const layer of document.querySelectorAll(".layer")) layer.hidden = !layer.querySelector(".module:not([hidden])");
    field("code-count").textContent = `${shown} functions and classes`;
  });

  // Light and dark; a browser may refuse to remember which.
  const themes = ["auto", "light", "dark"];
  const setTheme = (theme) => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    field("theme").textContent = `Colours: ${theme}`;
  };
  let theme = "auto";
  try { theme = localStorage.getItem("auxmc-theme") ?? "auto"; } catch { /* Pages from a file may have no storage. */ }
  setTheme(themes.includes(theme) ? theme : "auto");
  field("theme").addEventListener("click", () => {
    theme = themes[(themes.indexOf(root.dataset.theme ?? "auto") + 1) % themes.length];
    setTheme(theme);
    try { localStorage.setItem("auxmc-theme", theme); } catch { /* As above. */ }
  });
  field("one-page").addEventListener("click", (event) => {
    const all = root.classList.toggle("all");
    event.target.setAttribute("aria-pressed", String(all));
  });
  field("menu").open = !matchMedia("(max-width: 60rem)").matches;
  route(true);
})();
