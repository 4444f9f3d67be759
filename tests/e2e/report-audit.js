// audit.js - what 87-report-html.sh runs in the browser, in an opened report: a list of what is
// wrong with it, empty if nothing is. Everything that is folded away is unfolded first.
const wrong = [];
const say = (what, element) => wrong.push(what + (element ? ": " + element.outerHTML.slice(0, 120) : ""));

for (const details of document.querySelectorAll("details")) details.open = true;

// Colours as the browser computed them, WCAG 2.1's contrast of them.
const colour = text => {
    const parts = text.match(/^rgba?\(([\d.]+), ([\d.]+), ([\d.]+)(?:, ([\d.]+))?\)$/);
    return parts ? parts.slice(1, 4).map(Number).concat(parts[4] === undefined ? 1 : Number(parts[4])) : null;
};
const over = (top, alpha, below) => below.map((c, i) => i < 3 ? top[i] * alpha + c * (1 - alpha) : 1);
const luminance = c => c.slice(0, 3).map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
const contrast = (a, b) => {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
};

// What is behind ELEMENT: backgrounds of the elements around it, and rectangles of its picture.
const behind = element => {
    const around = [];
    for (let e = element; e; e = e.parentElement) around.unshift(e);
    let below = [255, 255, 255, 1];
    for (const e of around) {
        const c = colour(getComputedStyle(e).backgroundColor);
        if (c && c[3] > 0) below = over(c, c[3], below);
    }
    const picture = element.closest("svg");
    if (!picture) return below;
    const at = element.getBoundingClientRect();
    for (const shape of picture.querySelectorAll("rect, polygon")) {
        const box = shape.getBoundingClientRect();
        const style = getComputedStyle(shape);
        const fill = colour(style.fill);
        if (fill && box.left <= at.left && box.right >= at.right && box.top <= at.top && box.bottom >= at.bottom)
            below = over(fill, Number(style.fillOpacity) * fill[3], below);
    }
    return below;
};

let texts = 0;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const style = getComputedStyle(element);
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("svg title, svg desc"))
        continue;
    texts++;
    const own = colour(element.closest("svg") ? style.fill : style.color);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const ratio = own ? contrast(over(own, own[3], behind(element)), behind(element)) : 0;
    if (ratio < (large ? 3 : 4.5)) say("contrast " + ratio.toFixed(2), element);
    if (element.closest("svg") && size * element.getScreenCTM().a < 10) say("letters too small", element);
}
if (texts < 50) say("hardly any text: " + texts);

// Labels of a picture that lie on each other.
for (const picture of document.querySelectorAll("svg")) {
    const boxes = [...picture.querySelectorAll("text")].filter(t => t.checkVisibility())
        .map(t => [t, t.getBoundingClientRect()]);
    boxes.forEach(([t, a], i) => boxes.slice(0, i).forEach(([, b]) => {
        if (a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 4 && b.top < a.bottom - 4)
            say("labels overlap", t);
    }));
}

// Nothing is wider than the window; what scrolls by itself is in a box of its own.
if (document.documentElement.scrollWidth > window.innerWidth)
    say("scrolls sideways: " + document.documentElement.scrollWidth + " of " + window.innerWidth);
for (const element of document.querySelectorAll("body *"))
    if (element.checkVisibility() && !element.closest(".scroll, pre") &&
        element.getBoundingClientRect().right > window.innerWidth + 1)
        say("wider than the window", element);

// Of a table that scrolls, what it is and what came out are in sight before it does.
for (const element of document.querySelectorAll("caption, th"))
    if ((element.tagName === "CAPTION" || element.textContent === "Verdict") && element.checkVisibility() &&
        element.getBoundingClientRect().right > window.innerWidth + 1)
        say("out of sight", element);

// Terms are beside what they say where there is room.
for (const dd of document.querySelectorAll("dd"))
    if (window.innerWidth > 700 && dd.getBoundingClientRect().left < dd.parentElement.getBoundingClientRect().left + 20)
        say("in the column of terms", dd);

// Structure.
const levels = [...document.querySelectorAll("h1, h2, h3, h4, h5, h6")].map(h => Number(h.tagName[1]));
if (levels.filter(l => l === 1).length !== 1) say("not one h1");
levels.forEach((l, i) => { if (l > (i ? levels[i - 1] : 0) + 1) say("a level of headings is left out before number " + i); });
if (document.documentElement.lang !== "en") say("no language");
if (!document.title.trim()) say("no title");
for (const picture of document.querySelectorAll("svg:not([aria-hidden=true]), img")) {
    const label = (picture.getAttribute("aria-labelledby") || "").split(" ")
        .map(id => document.getElementById(id)?.textContent ?? "").join(" ");
    if (!(picture.alt || label).trim()) say("a picture without words", picture);
}
if (!document.querySelector("svg[role=img]")) say("no picture at all");
if (/No picture:/.test(document.body.innerText)) say("a plot is missing");

// Nothing is alive, and nothing leads elsewhere.
if (document.scripts.length) say("a script");
for (const element of document.querySelectorAll("*"))
    for (const { name, value } of element.attributes)
        if (name.startsWith("on") || name === "src" || (/href$/.test(name) && !value.startsWith("#")))
            say("alive or from elsewhere", element);
return wrong;
