// What is wrong with a page as it is drawn now: a list of words. Run by scripts/screenshots in the page.
(wanted) => {
  const wrong = [];
  const named = (element) => {
    const name = element.tagName.toLowerCase() + (element.id ? "#" + element.id : "");
    const words = (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 40);
    return name + "." + (element.getAttribute("class") || "") + " “" + words + "”";
  };
  const seen = (element) => element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;

  for (const selector of wanted) {
    if (![...document.querySelectorAll(selector)].some(seen)) wrong.push("missing: " + selector);
  }

  const wide = document.scrollingElement.scrollWidth - document.documentElement.clientWidth;
  if (wide > 0) {
    const edge = document.documentElement.clientWidth;
    const over = [...document.querySelectorAll("body *")].filter((element) => element.getBoundingClientRect().right > edge + 1);
    wrong.push("wider than the screen by " + wide + " px: " + over.slice(0, 2).map(named).join(", "));
  }

  for (const field of document.querySelectorAll("input:not([type=hidden]), textarea, select")) {
    if (!field.labels?.length && !field.getAttribute("aria-label")) wrong.push("no label: " + named(field));
  }
  for (const button of document.querySelectorAll("button, a[href], summary")) {
    if (seen(button) && !button.textContent.trim() && !button.getAttribute("aria-label")) wrong.push("no name: " + named(button));
  }
  if (innerWidth < 600) {
    for (const target of document.querySelectorAll("button:not(.link), .button, summary, .tabs a, .task-link, .run-link")) {
      if (seen(target) && target.getBoundingClientRect().height < 43.5) wrong.push("too small to touch: " + named(target));
    }
  }

  // Contrast: what a browser makes of any notation of a colour is asked by drawing it.
  const brush = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map();
  const rgba = (colour) => {
    if (!known.has(colour)) {
      brush.clearRect(0, 0, 1, 1);
      brush.fillStyle = colour;
      brush.fillRect(0, 0, 1, 1);
      const [r, g, b, a] = brush.getImageData(0, 0, 1, 1).data;
      known.set(colour, [r, g, b, a / 255]);
    }
    return known.get(colour);
  };
  const over = (front, back) => front.map((value, at) => at < 3 ? value * front[3] + back[at] * (1 - front[3]) : 1);
  const ground = (element) => {
    const layers = [];
    for (let at = element; at; at = at.parentElement) {
      const layer = rgba(getComputedStyle(at).backgroundColor);
      if (layer[3] > 0) layers.push(layer);
      if (layer[3] === 1) break;
    }
    const paper = matchMedia("(prefers-color-scheme: dark)").matches ? [18, 18, 18, 1] : [255, 255, 255, 1];
    return layers.reduceRight((back, layer) => over(layer, back), paper);
  };
  const light = ([r, g, b]) => {
    const part = (value) => { const share = value / 255; return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const looked = new Set();
  while (texts.nextNode()) {
    const element = texts.currentNode.parentElement;
    if (!texts.currentNode.data.trim() || looked.has(element)) continue;
    looked.add(element);
    // Words on bars have a rim of their own, and the text behind an editor is not to be seen.
    if (element.closest("script, style, title, .skip, .visually-hidden, .backdrop, text.label") || !seen(element)) continue;
    const style = getComputedStyle(element);
    const back = ground(element);
    const front = over(rgba(element.closest("svg") ? style.fill : style.color), back);
    const [high, low] = [light(front), light(back)].sort((one, other) => other - one);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.6 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < needed) wrong.push("contrast " + ratio.toFixed(2) + ", needs " + needed + ": " + named(element));
  }
  return wrong;
}
