"use strict";
// Without this script the page is one long document; with it, one part is shown at a time and can be searched.
(() => {
  const root = document.documentElement;
  const main = document.querySelector("main");
  const pages = [...document.querySelectorAll("main > .page")];
  const field = (id) => document.getElementById(id);
  const isNarrow = matchMedia("(max-width: 60rem)");
  const showsAll = () => root.classList.contains("all");
  root.classList.remove("no-script");

  // Words of a query and of the text that is searched, spelled alike.
  const KINDS = [["figure", "fig"], ["section", "sec|sect"], ["equation", "eq|eqn"], ["table", "tab"], ["algorithm", "alg"]];
  const normalise = (text) => {
    let plain = text.toLowerCase().replaceAll("+-", "±").replace(/[\s\u200b]+/g, " ").replace(/[\^`]/g, "").replaceAll("§", "section ");
    for (const [kind, short] of KINDS) plain = plain.replace(new RegExp(`\\b(?:${kind}s?|(?:${short})s?\\.?)(?=[\\s\\d]|$)`, "g"), `${kind} `);
    return plain;
  };
  // A number is found as a whole, the letter of a panel with or without a space: 5.2 in "5.2a", 5.2a in "5.2 a".
  const patternOf = (word) => {
    const [, number, panel] = word.match(/^((?:[a-z]\.)?\d[\d.]*\.\d+)([a-z])$/) ?? [null, word, ""];
    const before = /^\d/.test(word) ? "(?<![\\d.])" : "";
    const after = panel ? ` ?${panel}(?![a-z\\d])` : /\d$/.test(word) ? "(?!\\d|\\.\\d)" : "";
    return new RegExp(before + number.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + after);
  };
  const LITTLE = new Set(["a", "an", "and", "for", "in", "of", "on", "or", "the", "to", "with"]);
  const patternsOf = (query) => normalise(query).replace(/(\d\.\d+) ([a-z])(?= |$)/g, "$1$2").split(" ").filter((word) => word && !LITTLE.has(word)).map(patternOf);
  const fitsAll = (patterns, text) => patterns.every((pattern) => pattern.test(text));
  const texts = new Map();
  const textOf = (element, about) => {
    if (!texts.has(element)) texts.set(element, normalise(`${about()} ${element.textContent}`));
    return texts.get(element);
  };

  for (const button of document.querySelectorAll("[data-clear]")) button.addEventListener("click", () => field(button.dataset.clear).click());

  // Filter of claims.
  const filters = { q: field("filter-text"), document: field("filter-document"), study: field("filter-study"), origin: field("filter-origin"), claim: field("filter-claim"), verdict: field("filter-verdict") };
  const claims = [...document.querySelectorAll(".claim")];
  const groups = [...document.querySelectorAll(".group")];
  const filterClaims = () => {
    const patterns = patternsOf(filters.q.value);
    let shown = 0;
    for (const claim of claims) {
      const fits = ["document", "study", "origin", "claim", "verdict"].every((key) => !filters[key].value || filters[key].value === claim.dataset[key])
        && (!patterns.length || fitsAll(patterns, textOf(claim, () => claim.closest(".group").querySelector("h3").textContent)));
      claim.hidden = !fits;
      shown += fits;
    }
    const ids = new Set();
    for (const group of groups) {
      group.hidden = !group.querySelector(".claim:not([hidden])");
      if (!group.hidden) ids.add(group.querySelector("h3 code").textContent);
    }
    for (const study of document.querySelectorAll(".study")) {
      study.hidden = main.classList.contains("view-claims") && !study.querySelector(".claim:not([hidden])");
    }
    field("claims-count").textContent = `${ids.size} claims, ${shown} of ${claims.length} lines`;
    field("claims-filter").textContent = Object.values(filters).filter((input) => input.value)
      .map((input) => `${input.closest("label").firstChild.textContent.trim()}: ${input.selectedOptions?.[0].textContent ?? input.value}`).join("; ");
    field("claims-nothing").hidden = shown > 0;
  };
  const applyClaims = () => {
    const query = new URLSearchParams(Object.entries(filters).map(([key, input]) => [key, input.value.trim()]).filter(([, value]) => value));
    history.replaceState(history.state, "", `#claims${query.size ? `?${query}` : ""}`);
    filterClaims();
  };
  // What is typed is searched when typing pauses; Enter searches at once and sends no form.
  let pause;
  filters.q.form.addEventListener("input", (event) => {
    clearTimeout(pause);
    pause = setTimeout(applyClaims, event.target.type === "search" ? 150 : 0);
  });
  filters.q.form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(pause);
    applyClaims();
  });
  field("filter-clear").addEventListener("click", () => {
    for (const input of Object.values(filters)) input.value = "";
    applyClaims();
    filters.q.focus();
  });

  // One part at a time, by the address after the #; the place in it is kept with the entry of the history.
  const keepPlace = () => history.replaceState({ ...history.state, y: scrollY }, "");
  let scrolled;
  history.scrollRestoration = "manual";
  addEventListener("scroll", () => { clearTimeout(scrolled); scrolled = setTimeout(keepPlace, 200); }, { passive: true });
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (!link) return;
    clearTimeout(scrolled);
    if (link.hash !== location.hash) return void keepPlace();
    // The browser sees no change of the address: lead to the place again.
    history.replaceState(null, "");
    route(false);
  }, true);
  const decoded = (text) => { try { return decodeURIComponent(text); } catch { return text; } };

  const route = (isFirst) => {
    const [address, query] = location.hash.slice(1).split("?");
    const name = decoded(address);
    if (name === "main") return;
    const target = name ? document.getElementById(name)?.closest("main > .page, main > .page *") : pages[0];
    field("not-found").hidden = Boolean(target);
    field("not-found").querySelector("p").textContent = target ? "" : `Nothing on this page has the address #${name}. The menu leads to what there is.`;
    const page = target?.closest(".page");
    main.classList.toggle("view-claims", page?.id === "claims" && !showsAll());
    const wanted = new URLSearchParams(query ?? "");
    for (const [key, input] of Object.entries(filters)) input.value = (page?.id === "claims" && wanted.get(key)) || "";
    filterClaims();
    for (const other of pages) other.classList.toggle("current", other === page);
    for (const link of document.querySelectorAll("#menu-links li a")) {
      if (page && link.hash === `#${page.id}`) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${page?.querySelector("h1").textContent ?? "Not found"} · auxmc`;
    if (isNarrow.matches) field("menu").open = false;
    for (const group of groups) group.classList.toggle("sought", group === target);
    for (let outer = target?.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    if (target?.matches(".group")) for (const claim of target.querySelectorAll(".claim:not(.reproduced):not(.timing)")) claim.open = true;
    if (history.state?.y !== undefined) scrollTo({ top: history.state.y, behavior: "instant" });
    else if (!target || (target === page && !showsAll())) scrollTo({ top: 0, behavior: "instant" });
    else target.scrollIntoView({ behavior: "instant" });
    if (isFirst || !target) return;
    const spot = target === page ? page.querySelector("h1") : target;
    // A link or a button keeps its own place in the order of the keyboard.
    if (!spot.matches("a, button, summary")) spot.setAttribute("tabindex", "-1");
    spot.focus({ preventScroll: true });
  };
  addEventListener("hashchange", () => route(false));

  // Figures fit the width of the text; one is shown as large as the window lets it, on a phone larger, to be moved about.
  const dialog = field("enlarged");
  const large = dialog.querySelector("div").appendChild(new Image());
  const enlarge = (image) => {
    large.src = image.src;
    large.alt = image.alt;
    large.style.setProperty("--ratio", image.getAttribute("width") / image.getAttribute("height"));
    dialog.setAttribute("aria-label", `${image.closest(".sheet").getAttribute("aria-label")}, enlarged`);
    dialog.showModal();
    large.parentElement.scrollTo(0, 0);
  };
  for (const figure of document.querySelectorAll("figure:has(.enlarge)")) {
    const image = figure.querySelector(".sheet img");
    for (const part of [image, figure.querySelector(".enlarge")]) part.addEventListener("click", () => enlarge(image));
  }
  // A click beside the figure closes it, as Escape does.
  dialog.addEventListener("click", (event) => { if (event.target === dialog || event.target === large) dialog.close(); });

  // On paper nothing can be opened.
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("main details:not([open])")];
    for (const details of opened) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of opened) details.open = false; });

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
    event.target.textContent = root.classList.toggle("all") ? "One section at a time" : "All on one page";
    history.replaceState(null, "");
    route(true);
  });
  field("menu").open = !isNarrow.matches;
  route(true);
})();
