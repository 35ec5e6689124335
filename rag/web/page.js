// What the page does by itself: markers open the evidence panel, buttons copy and save, forms ask again. What needs the program goes
// through `window.askabstracts`, which the bridge component sets.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const calm = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
  const isAnswering = () => Boolean($("#current [aria-busy=true]"));
  const words = () => $("#words")?.dataset ?? {};
  let lastMarker = null;

  const pose = (wish) => {
    if (!wish.question?.trim() || isAnswering()) return false;
    window.askabstracts?.pose(wish);
    return true;
  };
  window.askabstractsPose = (question) => (pose({ question }) ? "" : question);

  const openEvidence = (marker) => {
    const quote = document.getElementById(marker.getAttribute("href").slice(1));
    const source = quote?.closest("details.abstract");
    const panel = $("#evidence");
    if (!source || !panel) return;
    lastMarker = marker;
    const body = $(".evidence-body", panel);
    body.replaceChildren();
    const heading = document.createElement("h3");
    heading.textContent = source.dataset.title;
    body.append(heading, ...[...source.children].slice(1).map((child) => child.cloneNode(true)));
    body.querySelectorAll("[id]").forEach((copy) => { copy.dataset.of = copy.id; copy.removeAttribute("id"); });
    panel.classList.add("open");
    const shown = [...body.querySelectorAll("mark")].find((mark) => mark.dataset.of === quote.id);
    if (!shown) return;
    shown.classList.add("shown");
    shown.scrollIntoView({ block: "center", behavior: calm() });
    shown.focus({ preventScroll: true });
  };
  const closeEvidence = () => {
    $("#evidence")?.classList.remove("open");
    lastMarker?.focus();
  };

  const save = (text, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/plain;charset=utf-8" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  };
  window.askabstractsSave = save;
  const announce = (text) => { const place = $("#announce"); if (place) place.textContent = text; };
  const textOf = (turn, kind) => $(`article[data-turn="${turn}"] pre[data-text="${kind}"]`)?.textContent ?? "";
  const form = (turn, kind) => $(`article[data-turn="${turn}"] form[data-form="${kind}"]`);
  const question = (turn) => $("textarea", form(turn, "edit"))?.defaultValue ?? "";

  const local = {
    copy: async (turn) => {
      try { await navigator.clipboard.writeText(textOf(turn, "copy")); announce(words().copied); } catch { save(textOf(turn, "copy"), "answer.txt"); }
    },
    markdown: (turn) => save(textOf(turn, "markdown"), "answer.md"),
    bibtex: (turn) => save(textOf(turn, "bibtex"), "citations.bib"),
    retry: (turn) => pose({ question: question(turn), replaces: turn }),
    edit: (turn) => { const edit = form(turn, "edit"); edit.hidden = false; $("textarea", edit).focus(); },
    cancel: (turn) => { form(turn, "edit").hidden = true; },
    good: (turn) => window.askabstracts?.act({ action: "feedback", turn, good: "yes" }),
    bad: (turn) => { const sheet = form(turn, "feedback"); sheet.hidden = false; $("input", sheet).focus(); },
    close: closeEvidence,
    example: (_, target) => pose({ question: target.textContent }),
    theme: () => {
      const dark = document.body.classList.toggle("dark");
      try { localStorage.setItem("aa-theme", dark ? "dark" : "light"); } catch { /* a browser that keeps nothing */ }
    },
    rename: (_, target) => {
      const name = prompt(words().nameIt, target.dataset.name);
      if (name !== null) window.askabstracts?.act({ action: "rename", id: target.dataset.id, name });
    },
    delete: (_, target) => { if (confirm(words().deleteSure)) window.askabstracts?.act({ action: "delete", id: target.dataset.id }); },
  };

  document.addEventListener("click", (event) => {
    const marker = event.target.closest?.("a.marker");
    if (marker) { event.preventDefault(); openEvidence(marker); return; }
    const point = event.target.closest?.("a.map-point[data-paper]");
    if (point) { event.preventDefault(); window.askabstracts?.act({ action: "paper", paper: point.dataset.paper }); return; }
    const target = event.target.closest?.("[data-action]");
    if (!target || target.closest(".papers-tab, #filters")) return;  // those have listeners of their own
    event.preventDefault();
    const { action, turn } = target.dataset;
    if (local[action]) local[action](turn, target);
    else if (!isAnswering() || action === "paper") window.askabstracts?.act({ ...target.dataset });
  });
  document.addEventListener("submit", (event) => {
    const sheet = event.target.closest("form[data-form]");
    if (!sheet) return;
    event.preventDefault();
    const given = Object.fromEntries(new FormData(sheet));
    const { form: kind, turn } = sheet.dataset;
    if (kind === "edit") pose({ question: given.question, replaces: turn });
    if (kind === "again") pose({ question: given.question, alone: "yes" });
    if (kind === "feedback") { window.askabstracts?.act({ action: "feedback", turn, good: "", ...given }); sheet.hidden = true; }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && $("#evidence.open")?.contains(document.activeElement)) closeEvidence();
  });

  // A finished answer is announced once; while it grows, nothing is.
  let wasAnswering = false;
  new MutationObserver(() => {
    const now = isAnswering();
    if (wasAnswering && !now) {
      const answer = $("#current article");
      if (answer) announce(`${answer.getAttribute("aria-label")}. ${$(".written, blockquote, .refusal", answer)?.textContent.slice(0, 300) ?? ""}`);
    }
    if (now && !wasAnswering) { announce(""); $("#current")?.scrollIntoView({ block: "end", behavior: calm() }); }
    wasAnswering = now;
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
