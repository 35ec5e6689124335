// How the page behaves under the reader's eyes: the question just asked goes to the top, quotes that are pointed at stay within the
// column, long questions fold, the list of conversations is open where it has room, the map says the titles. Sends nothing anywhere.
(() => {
  const $ = (selector, root = document) => root.querySelector(selector);
  const calm = () => (matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth");
  const words = () => $("#words")?.dataset ?? {};
  const isWide = () => matchMedia("(min-width: 1101px)").matches;

  // --- the question just asked --------------------------------------------------------------------------------------------
  const MOVES = ["PageUp", "PageDown", "Home", "End", "ArrowUp", "ArrowDown", " "];
  let hasMoved = false, wasAnswering = false;  // `hasMoved`: the reader scrolls, so the page must not
  const moved = () => { hasMoved = true; };
  for (const kind of ["wheel", "touchmove", "pointerdown"]) addEventListener(kind, moved, { passive: true, capture: true });
  addEventListener("keydown", (event) => { if (MOVES.includes(event.key) && !event.target.matches?.("input, textarea")) moved(); }, true);
  const lead = () => {
    hasMoved = false;
    const goUp = (behavior) => {
      const turn = $("#current .turn");
      if (!turn || hasMoved) return;
      const away = turn.getBoundingClientRect().top - parseFloat(getComputedStyle(turn).scrollMarginTop);
      if (Math.abs(away) > 2) turn.scrollIntoView({ block: "start", behavior });
    };
    requestAnimationFrame(() => goUp(calm()));
    setTimeout(() => goUp("auto"), 800);  // what stood above grew meanwhile
  };

  // --- folding ------------------------------------------------------------------------------------------------------------
  const LONGEST = 6;  // lines of a question
  const fold = (question) => {
    question.dataset.seen = "yes";
    if (question.textContent.length < 150 || question.offsetHeight < (LONGEST + 2) * parseFloat(getComputedStyle(question).lineHeight)) return;
    const button = document.createElement("button");
    const show = (isWhole) => {
      question.classList.toggle("long", !isWhole);
      question.classList.toggle("whole", isWhole);
      button.textContent = words()[isWhole ? "less" : "more"] ?? "…";
      button.setAttribute("aria-expanded", String(isWhole));
    };
    button.type = "button";
    button.className = "unfold";
    button.addEventListener("click", () => show(question.classList.contains("long")));
    question.after(button);
    show(false);
  };
  let isListOpen = null;  // as the visitor left it
  document.addEventListener("click", (event) => {
    const summary = event.target.closest?.("nav summary");
    if (summary) isListOpen = !summary.parentElement.open;
  });

  // --- a quote that is pointed at -----------------------------------------------------------------------------------------
  const place = (event) => {
    const marker = event.target.closest?.("a.marker"), column = $("#middle")?.getBoundingClientRect();
    if (!marker || !column) return;
    const box = marker.getBoundingClientRect(), rem = parseFloat(getComputedStyle(document.documentElement).fontSize);
    const width = Math.min(24 * rem, 0.7 * innerWidth), left = box.left + box.width / 2 - width / 2;
    const within = Math.max(column.left, Math.min(left, column.right - width));
    marker.style.setProperty("--shift", `${within - left}px`);
    marker.classList.toggle("below", box.top < 15 * rem);
  };
  document.addEventListener("pointerover", place);
  document.addEventListener("focusin", place);

  // --- the map ------------------------------------------------------------------------------------------------------------
  let tip = null, shownFor = null, isTouch = false;
  const hideTip = () => { if (tip) tip.hidden = true; shownFor = null; };
  const showTip = (point) => {
    if (!tip) {
      tip = document.createElement("div");
      tip.id = "map-tip";
      tip.setAttribute("aria-hidden", "true");  // the link is named
      $(".gradio-container").append(tip);
    }
    tip.textContent = point.dataset.title;
    tip.hidden = false;
    shownFor = point;
    const at = point.getBoundingClientRect(), own = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(8, Math.min(at.left + at.width / 2 - own.width / 2, innerWidth - own.width - 8))}px`;
    tip.style.top = `${at.top - own.height - 8 > 8 ? at.top - own.height - 8 : at.bottom + 8}px`;
  };
  const point = (event) => event.target.closest?.("a.map-point");
  document.addEventListener("pointerover", (event) => { if (point(event)) showTip(point(event)); else if (event.pointerType !== "touch") hideTip(); });
  document.addEventListener("focusin", (event) => { if (point(event)) showTip(point(event)); else hideTip(); });
  addEventListener("scroll", hideTip, { passive: true });
  document.addEventListener("pointerdown", (event) => { isTouch = event.pointerType === "touch" && shownFor !== point(event); if (!point(event)) hideTip(); }, true);
  document.addEventListener("click", (event) => {  // a finger cannot point: the first touch says the title, the second opens the paper
    if (!point(event)) return;
    if (!isTouch) { hideTip(); return; }
    isTouch = false;
    event.preventDefault();
    event.stopPropagation();
    showTip(point(event));
  }, true);

  // --- a paper chosen to be asked -----------------------------------------------------------------------------------------
  const focusBox = (tries) => {
    const box = $("#question textarea");
    if (box?.offsetParent && $("#filters .filter-chips")) {
      box.focus({ preventScroll: true });
      scrollTo({ top: document.documentElement.scrollHeight, behavior: "auto" });
    }
    else if (tries) setTimeout(() => focusBox(tries - 1), 50);
  };
  document.addEventListener("click", (event) => {
    if (event.target.closest?.(".papers-tab [data-action=pin], .papers-tab [data-action=add]")) focusBox(40);
  });

  // --- whatever is drawn anew ---------------------------------------------------------------------------------------------
  const measured = new ResizeObserver(([dock]) => document.documentElement.style.setProperty("--dock", `${Math.ceil(dock.borderBoxSize[0].blockSize)}px`));
  let dock = null;
  new MutationObserver(() => {
    document.querySelectorAll(".turn .question:not([data-seen])").forEach(fold);
    document.querySelectorAll("nav details:not([data-seen])").forEach((list) => { list.dataset.seen = "yes"; list.open = isListOpen ?? isWide(); });
    if (dock !== $("#dock") && $("#dock")) { measured.disconnect(); dock = $("#dock"); measured.observe(dock); }
    const now = Boolean($("#current [aria-busy=true]"));
    if (now && !wasAnswering) lead();
    wasAnswering = now;
  }).observe(document.documentElement, { childList: true, subtree: true });
})();
