// What can be told of a page's accessibility from the page itself. Gives a list of what is wrong.
() => {
  const wrong = [];
  const seen = (each) => each.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  const all = [...document.querySelectorAll("body *")].filter(seen);
  const told = (each) => `<${each.tagName.toLowerCase()} class="${each.className}"> ${each.textContent.trim().slice(0, 40)}`;

  // Contrast of every text with what it stands on
  const channels = (colour) => {
    const [r, g, b, a = 1] = colour.match(/[\d.]+/g).map(Number);
    return [r, g, b, a];
  };
  const over = (top, below) => top.slice(0, 3).map((c, at) => c * top[3] + below[at] * (1 - top[3]));
  const behind = (each) => {
    const layers = [];
    for (let at = each; at; at = at.parentElement) {
      const colour = channels(getComputedStyle(at).backgroundColor);
      if (colour[3] > 0) layers.push(colour);
      if (colour[3] === 1) break;
    }
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255]);
  };
  const light = (rgb) => {
    const [r, g, b] = rgb.map((c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  for (const each of all) {
    const own = [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    if (!own || each.closest(":disabled, .unseen, .live, noscript, script, style, option")) continue;
    const style = getComputedStyle(each);
    const ground = behind(each);
    const [a, b] = [light(over(channels(style.color), ground)), light(ground)].sort((x, y) => y - x);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.66 && style.fontWeight >= 700);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < (large ? 3 : 4.5)) wrong.push(`contrast ${ratio.toFixed(2)}: ${told(each)}`);
  }

  // Names of all that can be used or stands for something
  for (const each of all.filter((one) => one.matches("a, button, input, select, meter, canvas, summary, dialog, [role=img], [role=tree], [role=list], [tabindex='0']"))) {
    const label = each.getAttribute("aria-label") ?? each.labels?.[0]?.textContent ?? each.textContent;
    if (!label.trim()) wrong.push(`no name: ${told(each)}`);
    if (each.tabIndex > 0) wrong.push(`order of its own: ${told(each)}`);
  }

  // Landmarks, headings, roles, ids
  const count = (selector) => all.filter((each) => each.matches(selector)).length;
  if (count("main") !== 1) wrong.push(`${count("main")} main`);
  if (count("[role=banner], body > header") !== 1) wrong.push("no banner");
  if (count("h1") !== 1) wrong.push(`${count("h1")} h1`);
  const navs = all.filter((each) => each.matches("nav")).map((each) => each.getAttribute("aria-label"));
  if (navs.includes(null) || new Set(navs).size !== navs.length) wrong.push(`navs: ${navs}`);
  const ids = [...document.querySelectorAll("[id]")].map((each) => each.id);
  for (const id of ids) if (ids.indexOf(id) !== ids.lastIndexOf(id)) wrong.push(`two ids ${id}`);
  for (const each of all.filter((one) => one.matches("[role=listitem], [role=treeitem]"))) {
    const list = each.parentElement.closest("[role=list], [role=tree]");
    if (!list) wrong.push(`an item of no list: ${told(each)}`);
  }
  if (!document.documentElement.lang || !document.title) wrong.push("no language or title");

  // Nothing is wider than the window
  const wide = document.documentElement.scrollWidth;
  if (wide > innerWidth) wrong.push(`${wide} wide in a window of ${innerWidth}`);
  return wrong;
}
