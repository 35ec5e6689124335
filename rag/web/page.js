// What the page does by itself: markers open the evidence panel, buttons copy and save, forms ask again. What needs the program goes
// through `window.askabstracts`, which the bridge component sets.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const calm = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
  const isAnswering = () => Boolean($("#current [aria-busy=true]"));
  const words = () => $("#words")?.dataset ?? {};
  let lastMarker = null, hint = null;

  const tell = (text) => { const note = $("#note"); if (note) note.textContent = text ?? ""; };
  const box = () => $("#question textarea");
  const pending = {  // the question that is being answered, for when the page or the server ends before its answer is kept
    get: () => { try { return sessionStorage.getItem("aa-pending"); } catch { return null; } },
    set: (question) => { try { sessionStorage.setItem("aa-pending", question); } catch { /* a browser that keeps nothing */ } },
    drop: () => { try { sessionStorage.removeItem("aa-pending"); } catch { /* as above */ } },
  };
  let isPosing = false, next = null;  // `next` waits for the end of an answer that was given up
  const send = (wish) => {
    isPosing = true;
    if (!wish.keeps) pending.set(wish.question);
    window.askabstracts.pose(wish);
  };
  const pose = (wish) => {
    if (!wish.question?.trim() || !window.askabstracts) return false;
    if (isAnswering()) { tell(words().busy); return false; }
    tell("");
    if (isPosing) next = wish; else send(wish);
    return true;
  };
  const ended = () => {
    isPosing = false;
    pending.drop();
    if (next) { const wish = next; next = null; send(wish); }
  };
  window.askabstractsDone = ended;
  // Both give what the box is to hold: the question that was not answered, when there is one, else what it holds.
  const givenBack = (question, held) => {
    if (!question || held) return held;
    tell(words().unanswered);
    return question;
  };
  window.askabstractsFailed = (held) => {
    const question = isAnswering() ? pending.get() : "";  // where a reason is shown, it is shown with the question
    if (question) $("#current [aria-busy=true]").remove();
    ended();
    return givenBack(question, held);
  };
  window.askabstractsLoaded = (held) => {
    const question = pending.get();
    pending.drop();
    const isAnswered = [...document.querySelectorAll("article[data-turn] .question")].at(-1)?.textContent === question;
    return givenBack(isAnswered ? "" : question, held || box()?.value || "");
  };
  window.askabstractsPose = (question) => (pose({ question }) ? "" : question);

  const openEvidence = (marker) => {
    const quote = document.getElementById(marker.getAttribute("href").slice(1));
    const source = quote?.closest("details.abstract");
    const panel = $("#evidence");
    if (!source || !panel) return;
    lastMarker = marker;
    const body = $(".evidence-body", panel);
    hint ??= [...body.children];
    body.replaceChildren();
    const heading = document.createElement("h3");
    heading.textContent = source.dataset.title;
    body.append(heading, ...[...source.children].slice(1).map((child) => child.cloneNode(true)));
    body.querySelectorAll("[id]").forEach((copy) => { copy.dataset.of = copy.id; copy.removeAttribute("id"); });
    panel.classList.add("open");
    body.scrollTop = 0;
    const shown = [...body.querySelectorAll("mark")].find((mark) => mark.dataset.of === quote.id);
    if (!shown) return;
    shown.classList.add("shown");
    const place = shown.getBoundingClientRect(), frame = body.getBoundingClientRect();
    body.scrollTo({ top: place.top - frame.top - Math.max(heading.offsetHeight, (frame.height - place.height) / 2), behavior: calm() });  // the page stays
    shown.focus({ preventScroll: true });
  };
  const closeEvidence = () => {
    $("#evidence")?.classList.remove("open");
    const again = lastMarker?.isConnected ? lastMarker : $(`a.marker[href="${lastMarker?.getAttribute("href")}"]`);
    again?.focus();  // a finished answer is drawn anew, with other elements
  };
  const emptyEvidence = () => {
    $("#evidence")?.classList.remove("open");
    if (hint) $("#evidence .evidence-body")?.replaceChildren(...hint);
    lastMarker = null;
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
  const confirmIn = (button, text) => {  // what was done is said where it was asked for
    announce(text);
    if (!button || button.dataset.says) return;
    button.dataset.says = button.textContent;
    button.style.minWidth = `${button.offsetWidth}px`;
    button.textContent = `✓ ${text}`;
    setTimeout(() => { button.textContent = button.dataset.says; delete button.dataset.says; button.style.minWidth = ""; }, 2500);
  };
  let judged = null;  // the button of the feedback that is on its way
  window.askabstractsTell = (text) => {
    if (judged && text === words().thanks) confirmIn(judged, text); else if (text) tell(text);
    judged = null;
  };
  const textOf = (turn, kind) => $(`article[data-turn="${turn}"] pre[data-text="${kind}"]`)?.textContent ?? "";
  const form = (turn, kind) => $(`article[data-turn="${turn}"] form[data-form="${kind}"]`);
  const question = (turn) => $("textarea", form(turn, "edit"))?.defaultValue ?? "";
  const openForm = (turn, kind) => {
    document.querySelectorAll("form[data-form=edit], form[data-form=feedback]").forEach((one) => { one.hidden = one !== form(turn, kind); });
    const sheet = form(turn, kind);
    $("textarea, input", sheet).focus({ preventScroll: true });
    sheet.scrollIntoView({ block: "nearest", behavior: calm() });
  };

  const local = {
    copy: async (turn, target) => {
      try { await navigator.clipboard.writeText(textOf(turn, "copy")); confirmIn(target, words().copied); } catch { save(textOf(turn, "copy"), "answer.txt"); }
    },
    markdown: (turn) => save(textOf(turn, "markdown"), "answer.md"),
    bibtex: (turn) => save(textOf(turn, "bibtex"), "citations.bib"),
    retry: (turn) => pose({ question: question(turn), replaces: turn, keeps: "yes" }),
    edit: (turn) => {
      const edit = form(turn, "edit");
      const after = document.querySelectorAll("article.turn[data-turn]").length - Number(turn);
      $(".cuts", edit).textContent = after > 0 ? words()[after === 1 ? "cutsOne" : "cuts"].replace("{count}", after) : "";
      openForm(turn, "edit");
    },
    cancel: (turn, target) => {
      const sheet = target.closest("form");
      sheet.hidden = true;
      $(`article[data-turn="${turn}"] [data-action="${sheet.dataset.form === "edit" ? "edit" : "bad"}"]`)?.focus();
    },
    repeat: (_, target) => pose({ question: $(".question", target.closest("article")).textContent }),
    good: (turn, target) => { judged = target; window.askabstracts?.act({ action: "feedback", turn, good: "yes" }); },
    bad: (turn) => openForm(turn, "feedback"),
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
    delete: (_, target) => {
      if (!confirm(words().deleteSure)) return;
      if (target.closest("[aria-current]")) emptyEvidence();
      window.askabstracts?.act({ action: "delete", id: target.dataset.id });
    },
  };
  // What would take the place of an answer while it is written waits for its end, or for Stop.
  const WAITING = "[data-action=new], [data-action=clear], [data-action=open], [data-action=retry], [data-action=repeat], [data-action=example], "
    + "form[data-form=edit] [type=submit], form[data-form=again] [type=submit]";
  const LEAVING = ["new", "clear", "open"];

  document.addEventListener("click", (event) => {
    const marker = event.target.closest?.("a.marker");
    if (marker) { event.preventDefault(); openEvidence(marker); return; }
    const point = event.target.closest?.("a.map-point[data-paper]");
    if (point) { event.preventDefault(); window.askabstracts?.act({ action: "paper", paper: point.dataset.paper }); return; }
    const target = event.target.closest?.("[data-action]");
    if (!target || target.closest(".papers-tab, #filters")) return;  // those have listeners of their own
    event.preventDefault();
    const { action, turn } = target.dataset;
    if (isAnswering() && target.matches(WAITING)) { tell(words().busy); return; }
    if (LEAVING.includes(action)) emptyEvidence();
    if (local[action]) local[action](turn, target);
    else window.askabstracts?.act({ ...target.dataset });
  });
  document.addEventListener("submit", (event) => {
    const sheet = event.target.closest("form[data-form]");
    if (!sheet) return;
    event.preventDefault();
    const given = Object.fromEntries(new FormData(sheet));
    const { form: kind, turn } = sheet.dataset;
    if (kind === "edit") pose({ question: given.question, replaces: turn });
    if (kind === "again") pose({ question: given.question, alone: "yes" });
    if (kind === "feedback") {
      judged = $(`article[data-turn="${turn}"] [data-action=bad]`);
      window.askabstracts?.act({ action: "feedback", turn, good: "", ...given });
      sheet.hidden = true;
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && $("#evidence.open")?.contains(document.activeElement)) closeEvidence();
  });

  // A finished answer is announced once; while it grows, nothing is.
  let wasAnswering = false;
  new MutationObserver(() => {
    const now = isAnswering();
    if (box()?.dir === "ltr") box().dir = "auto";  // Gradio knows only left and right
    if (now || wasAnswering) document.querySelectorAll(WAITING).forEach((one) => one.setAttribute("aria-disabled", String(now)));
    if (wasAnswering && !now) tell("");
    if (wasAnswering && !now) {
      const answer = $("#current article");
      if (answer) announce(`${answer.getAttribute("aria-label")}. ${$(".written, blockquote, .refusal", answer)?.textContent.slice(0, 300) ?? ""}`);
    }
    if (now && !wasAnswering) announce("");
    wasAnswering = now;
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
