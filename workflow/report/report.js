"use strict";
// Without this script the page is one long document; with it, one part is shown at a time and claims can be searched.
(() => {
  const main = document.querySelector("main");
  const pages = [...document.querySelectorAll("main > .page")];
  const claims = [...document.querySelectorAll(".claim")];
  const groups = [...document.querySelectorAll(".group")];
  const filters = Object.fromEntries(["q", "document", "study", "origin", "claim", "verdict"].map((key) => [key, document.getElementById(`filter-${key}`)]));
  const form = filters.q.form;

  // Words of a query and of the text, spelled alike: "fig. 5.2 a" is "figure 5.2a".
  const KINDS = { figure: "figures?|figs?\\.?", section: "sections?|secs?\\.?|§", equation: "equations?|eqs?\\.?", table: "tables?|tabs?\\.?" };
  const normalise = (text) => {
    let plain = text.toLowerCase().replace(/[\s\u200b]+/g, " ").replace(/(\d\.\d+) ([a-z])(?![a-z])/g, "$1$2");
    for (const [kind, spelling] of Object.entries(KINDS)) plain = plain.replace(new RegExp(`(?<![a-z])(?:${spelling})(?=[\\s\\d])`, "g"), `${kind} `);
    return plain;
  };
  // A number is found as a whole: 5.2 in "5.2a", not in "15.2" or "5.21".
  const patternOf = (word) => {
    const escaped = word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
    return new RegExp((/^\d/.test(word) ? "(?<![\\d.])" : "") + escaped + (/\d$/.test(word) ? "(?!\\d|\\.\\d)" : ""));
  };
  const texts = new Map();
  const textOf = (claim) => {
    if (!texts.has(claim)) texts.set(claim, normalise(`${claim.closest(".group").querySelector("h3").textContent} ${claim.textContent}`));
    return texts.get(claim);
  };

  const filterClaims = () => {
    const patterns = normalise(filters.q.value).split(" ").filter(Boolean).map(patternOf);
    const keys = Object.keys(filters).filter((key) => key !== "q" && filters[key].value);
    for (const claim of claims) {
      claim.hidden = !keys.every((key) => claim.dataset[key].split(" ").includes(filters[key].value)) || !patterns.every((pattern) => pattern.test(textOf(claim)));
    }
    for (const group of groups) group.hidden = !group.querySelector(".claim:not([hidden])");
    for (const study of document.querySelectorAll(".study")) {
      study.hidden = main.classList.contains("view-claims") && !study.querySelector(".claim:not([hidden])");
    }
    const ids = new Set(groups.filter((group) => !group.hidden).map((group) => group.querySelector("h3 code").textContent));
    const shown = claims.filter((claim) => !claim.hidden).length;
    document.getElementById("claims-count").textContent = `${ids.size} claims, ${shown} of ${claims.length} lines`;
  };
  const search = () => {
    const query = new URLSearchParams(Object.entries(filters).map(([key, input]) => [key, input.value.trim()]).filter(([, value]) => value));
    history.replaceState(null, "", `#claims${query.size ? `?${query}` : ""}`);
    filterClaims();
  };
  form.addEventListener("input", search);
  form.addEventListener("reset", () => setTimeout(search));
  form.addEventListener("submit", (event) => event.preventDefault());

  // One part at a time, by the address after the #, which may carry a filter of claims.
  const route = () => {
    const [name, query] = location.hash.slice(1).split("?");
    const target = document.getElementById(decodeURIComponent(name))?.closest("main > .page, main > .page *") ?? pages[0];
    const page = target.closest(".page");
    main.classList.toggle("view-claims", page.id === "claims");
    const wanted = new URLSearchParams(page.id === "claims" ? query ?? "" : "");
    for (const [key, input] of Object.entries(filters)) input.value = wanted.get(key) ?? "";
    // What a list of choices does not have is not chosen: say so.
    const unknown = [...wanted].filter(([key, value]) => filters[key]?.value !== value);
    for (const [key] of unknown) if (filters[key]) filters[key].value = "";
    filterClaims();
    if (unknown.length) document.getElementById("claims-count").textContent += `; unknown in the address: ${unknown.map((pair) => pair.join(" ")).join(", ")}`;
    for (const other of pages) other.classList.toggle("current", other === page);
    for (const link of document.querySelectorAll("#menu-links li a")) link.ariaCurrent = link.hash === `#${page.id}` ? "page" : null;
    document.title = `${page.querySelector("h1").textContent} · auxmc`;
    if (matchMedia("(max-width: 60rem)").matches) document.getElementById("menu").open = false;
    for (const group of groups) group.classList.toggle("sought", group === target);
    for (let outer = target.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
    for (const claim of target.matches(".group") ? target.querySelectorAll(".claim:not(.reproduced):not(.timing)") : []) claim.open = true;
    if (target === page) scrollTo(0, 0);
    else target.scrollIntoView();
  };
  addEventListener("hashchange", route);

  // On paper nothing can be opened.
  addEventListener("beforeprint", () => { for (const details of document.querySelectorAll("main details")) details.open = true; });
  route();
})();
