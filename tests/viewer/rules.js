// Rules that axe has as serious or critical, and two of our own, beyond what audit.js checks. Gives a list of "rule: where".
() => {
  const wrong = [];
  const told = (each) => `<${each.tagName.toLowerCase()} class="${each.getAttribute("class") ?? ""}"> ${each.textContent.trim().slice(0, 40)}`;
  const found = (rule, each, more = "") => wrong.push(`${rule}: ${told(each)}${more && ` (${more})`}`);
  const inPage = [...document.querySelectorAll("body *")];
  const seen = (each) => each.checkVisibility({ visibilityProperty: true });
  const all = inPage.filter(seen);
  const told_of = (each) => !each.closest("[aria-hidden=true]"); // to who hears the page

  const IMPLICIT = {
    a: (e) => (e.hasAttribute("href") ? "link" : null), button: () => "button", select: () => "combobox", ul: () => "list", ol: () => "list", li: () => "listitem",
    table: () => "table", tr: () => "row", td: () => "cell", th: (e) => (e.scope === "row" ? "rowheader" : "columnheader"), thead: () => "rowgroup", tbody: () => "rowgroup",
    main: () => "main", nav: () => "navigation", h1: () => "heading", h2: () => "heading", h3: () => "heading", h4: () => "heading", meter: () => "meter", progress: () => "progressbar",
    option: () => "option", summary: () => "button", textarea: () => "textbox", img: () => "img", details: () => "group", dialog: () => "dialog",
    input: (e) => ({ checkbox: "checkbox", radio: "radio", search: "searchbox", range: "slider", button: "button", submit: "button" })[e.type] ?? "textbox",
  };
  const roleOf = (each) => {
    const role = (each.getAttribute("role") ?? "").trim().split(/\s+/)[0];
    if (role) return role === "presentation" || role === "none" ? null : role;
    return IMPLICIT[each.tagName.toLowerCase()]?.(each) ?? null;
  };
  const canFocus = (each) =>
    (each.matches("a[href], button, input, select, textarea, summary, audio[controls], video[controls], [contenteditable=true], iframe") && !each.disabled) || each.hasAttribute("tabindex");
  const inTabOrder = (each) => canFocus(each) && each.tabIndex >= 0;

  // nested-interactive: what is inside of these is not told, so nothing in it may be used
  const FLAT = new Set(["button", "checkbox", "img", "meter", "option", "progressbar", "radio", "scrollbar", "separator", "slider", "switch", "tab"]);
  for (const each of all.filter((one) => FLAT.has(roleOf(one)))) {
    if ([...each.querySelectorAll("*")].some((inner) => seen(inner) && canFocus(inner))) found("nested-interactive", each);
  }

  // aria-required-children, aria-required-parent
  const CHILDREN = {
    list: ["listitem"], tree: ["treeitem", "group"], treegrid: ["row", "rowgroup"], grid: ["row", "rowgroup"], table: ["row", "rowgroup", "caption"], rowgroup: ["row"],
    row: ["cell", "columnheader", "gridcell", "rowheader"], tablist: ["tab"], listbox: ["option", "group"], radiogroup: null, menu: ["menuitem", "menuitemcheckbox", "menuitemradio", "group", "separator"],
    menubar: ["menuitem", "menuitemcheckbox", "menuitemradio", "group", "separator"], feed: ["article"],
  };
  const PARENTS = {
    listitem: ["list"], treeitem: ["tree", "group"], tab: ["tablist"], row: ["table", "grid", "treegrid", "rowgroup"], rowgroup: ["table", "grid", "treegrid"], cell: ["row"], gridcell: ["row"],
    columnheader: ["row"], rowheader: ["row"], option: ["listbox", "combobox", "group"], menuitem: ["menu", "menubar", "group"],
  };
  const owned = (each) => [...each.children].filter((kid) => seen(kid) && told_of(kid)).flatMap((kid) => (roleOf(kid) ? [kid] : owned(kid)));
  const hasText = (each) => [...each.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  for (const each of all.filter(told_of)) {
    const role = roleOf(each);
    const wanted = CHILDREN[role];
    if (wanted) {
      const kids = owned(each);
      const alien = kids.find((kid) => !wanted.includes(roleOf(kid)));
      if (alien) found("aria-required-children", each, `${roleOf(alien)} in a ${role}`);
      else if (!kids.length && hasText(each)) found("aria-required-children", each, `nothing in a ${role}`);
    }
    if (PARENTS[role]) {
      let above = each.parentElement;
      while (above && !roleOf(above)) above = above.parentElement;
      if (!above || !PARENTS[role].includes(roleOf(above))) found("aria-required-parent", each, `${role} in a ${above ? roleOf(above) : "page"}`);
    }
  }

  // list, listitem, definition-list, dlitem: of HTML's own
  for (const each of all.filter((one) => one.matches("ul, ol"))) {
    if ([...each.children].some((kid) => !kid.matches("li, script, template"))) found("list", each);
  }
  for (const each of all.filter((one) => one.matches("li"))) if (!each.parentElement.matches("ul, ol, [role=list]")) found("listitem", each);
  for (const each of all.filter((one) => one.matches("dl"))) {
    if ([...each.children].some((kid) => !kid.matches("dt, dd, div, script, template"))) found("definition-list", each);
  }
  for (const each of all.filter((one) => one.matches("dt, dd"))) if (!each.closest("dl")) found("dlitem", each);

  // aria-valid-attr-value
  const BOOL = ["true", "false"];
  const VALUES = {
    atomic: BOOL, busy: BOOL, disabled: BOOL, modal: BOOL, multiline: BOOL, multiselectable: BOOL, readonly: BOOL, required: BOOL, hidden: [...BOOL, ""],
    expanded: BOOL, selected: BOOL, checked: [...BOOL, "mixed"], pressed: [...BOOL, "mixed"], live: ["off", "polite", "assertive"], sort: ["none", "ascending", "descending", "other"],
    current: [...BOOL, "page", "step", "location", "date", "time"], haspopup: [...BOOL, "menu", "listbox", "tree", "grid", "dialog"], invalid: [...BOOL, "grammar", "spelling"], orientation: ["horizontal", "vertical", "undefined"],
    autocomplete: ["inline", "list", "both", "none"],
  };
  const WHOLE = ["level", "posinset", "setsize", "colcount", "rowcount", "colindex", "rowindex", "colspan", "rowspan"];
  const NUMBER = ["valuemin", "valuemax", "valuenow"];
  const IDS = ["activedescendant", "controls", "describedby", "details", "errormessage", "flowto", "labelledby", "owns"];
  const TEXT = ["label", "description", "roledescription", "placeholder", "valuetext", "keyshortcuts", "braillelabel", "brailleroledescription", "relevant"];
  for (const each of inPage) {
    for (const { name, value } of each.attributes) {
      if (!name.startsWith("aria-")) continue;
      const kind = name.slice(5);
      const right =
        kind in VALUES ? VALUES[kind].includes(value)
        : WHOLE.includes(kind) ? /^-?\d+$/.test(value) && (kind !== "level" || Number(value) > 0)
        : NUMBER.includes(kind) ? value.trim() !== "" && Number.isFinite(Number(value))
        : IDS.includes(kind) ? value.trim() !== "" && value.trim().split(/\s+/).every((id) => document.getElementById(id))
        : TEXT.includes(kind);
      if (!right) found("aria-valid-attr-value", each, `${name}="${value}"`);
    }
  }

  // duplicate-id-aria: an id that something refers to is there once
  const named = new Map();
  for (const each of document.querySelectorAll("[id]")) named.set(each.id, (named.get(each.id) ?? 0) + 1);
  for (const each of inPage) {
    const used = [each.htmlFor ?? "", ...IDS.map((kind) => each.getAttribute(`aria-${kind}`) ?? "")].join(" ").split(/\s+/);
    for (const id of used) if ((named.get(id) ?? 0) > 1) found("duplicate-id-aria", each, id);
  }

  // aria-hidden-focus: nothing that is hidden from who hears the page may be come to by the keyboard
  for (const each of all.filter((one) => one.closest("[aria-hidden=true]") && inTabOrder(one))) found("aria-hidden-focus", each);
  if (document.body.getAttribute("aria-hidden") === "true") found("aria-hidden-focus", document.body);

  // scrollable-region-focusable: what scrolls can be scrolled by the keyboard
  for (const each of all) {
    const style = getComputedStyle(each);
    const scrolls = (how, size, room) => /auto|scroll/.test(how) && size > room + 1;
    if (!scrolls(style.overflowY, each.scrollHeight, each.clientHeight) && !scrolls(style.overflowX, each.scrollWidth, each.clientWidth)) continue;
    if (each.matches("body, html, select, textarea, input")) continue;
    if (!inTabOrder(each) && ![...each.querySelectorAll("*")].some((inner) => seen(inner) && inTabOrder(inner))) found("scrollable-region-focusable", each);
  }

  // label-title-only: what is filled in has a name that is seen, or told, and not a tooltip alone
  for (const each of all.filter((one) => one.matches("input:not([type=hidden]), select, textarea"))) {
    const name = each.getAttribute("aria-label") || each.getAttribute("aria-labelledby") || each.labels?.length;
    if (!name && (each.title || each.getAttribute("aria-describedby"))) found("label-title-only", each);
  }

  // cut-text (a rule of our own): what is cut off for want of room can be read in a tooltip
  for (const each of all.filter((one) => getComputedStyle(one).textOverflow === "ellipsis" && one.scrollWidth > one.clientWidth + 1)) {
    if (!each.closest("[title]") && each.textContent.trim()) found("cut-text", each);
  }

  // cut-alike (likewise): names that were shortened can still be told apart
  const names = new Map();
  for (const each of all.filter((one) => one.title && one.textContent.includes("…"))) {
    const key = `${each.className} ${each.textContent}`;
    if (names.has(key) && names.get(key) !== each.title) found("cut-alike", each);
    names.set(key, each.title);
  }

  // svg-img-alt, image-alt
  for (const each of all.filter((one) => one.matches("svg[role=img], svg[role=graphics-document], svg[role=graphics-symbol]"))) {
    if (!(each.getAttribute("aria-label") || each.getAttribute("aria-labelledby") || each.querySelector(":scope > title")?.textContent.trim() || each.getAttribute("title"))) found("svg-img-alt", each);
  }
  for (const each of all.filter((one) => one.matches("img"))) if (!each.hasAttribute("alt") && !each.getAttribute("aria-label")) found("image-alt", each);

  // html-lang, meta-viewport
  if (!/^[a-z]{2,3}(-[A-Za-z0-9]{2,8})*$/.test(document.documentElement.lang)) found("html-lang", document.documentElement);
  for (const each of document.querySelectorAll("meta[name=viewport]")) {
    const set = Object.fromEntries(each.content.split(/[,;]/).map((part) => part.split("=").map((word) => word.trim().toLowerCase())));
    if (["no", "0"].includes(set["user-scalable"]) || (set["maximum-scale"] && Number(set["maximum-scale"]) < 2)) found("meta-viewport", each, each.content);
  }

  // target-size: 24 by 24, or as much room around it; not of links within a line of text
  const targets = all.filter((one) => one.matches("a[href], button, input:not([type=hidden]), select, textarea, summary, [role=treeitem], [role=button], [role=tab], [role=option]") && !one.disabled);
  const inText = (each) => {
    if (getComputedStyle(each).display !== "inline") return false;
    const block = each.parentElement;
    return [...block.childNodes].some((node) => node !== each && (node.nodeType === 3 ? node.data.trim() : node.nodeType === 1 && !node.matches("a, button, input") && getComputedStyle(node).display === "inline" && node.textContent.trim()));
  };
  const clipped = (each) => {
    let area = each.getBoundingClientRect();
    area = { left: area.left, right: area.right, top: area.top, bottom: area.bottom };
    for (let above = each.parentElement; above; above = above.parentElement) {
      if (getComputedStyle(above).overflow === "visible") continue;
      const edge = above.getBoundingClientRect();
      area = { left: Math.max(area.left, edge.left), right: Math.min(area.right, edge.right), top: Math.max(area.top, edge.top), bottom: Math.min(area.bottom, edge.bottom) };
    }
    return area;
  };
  const areas = targets.map((each) => ({ each, ...clipped(each), full: each.getBoundingClientRect() })).filter((area) => area.right > area.left && area.bottom > area.top);
  const small = (area) => area.full.width < 23.9 || area.full.height < 23.9;
  for (const area of areas.filter((one) => small(one) && !inText(one.each))) {
    const [x, y] = [(area.left + area.right) / 2, (area.top + area.bottom) / 2];
    const near = areas.find((other) => {
      if (other.each === area.each || other.each.contains(area.each) || area.each.contains(other.each)) return false;
      const [ox, oy] = [(other.left + other.right) / 2, (other.top + other.bottom) / 2];
      if (small(other)) return Math.hypot(x - ox, y - oy) < 23.9;
      const [dx, dy] = [Math.max(other.left - x, 0, x - other.right), Math.max(other.top - y, 0, y - other.bottom)];
      return Math.hypot(dx, dy) < 11.9;
    });
    if (near) found("target-size", area.each, `${Math.round(area.full.width)} by ${Math.round(area.full.height)}, beside ${told(near.each)}`);
  }
  return wrong;
}
