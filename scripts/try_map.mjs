// Open the page of a map in a headless browser: hover, zoom, and click a cell of every kind; look at what it says.
//
//     npm install puppeteer-core && node scripts/try_map.mjs map.html [folder for pictures]
//
// CHROMIUM names the browser (default: chromium on the PATH).
import { execSync } from "node:child_process"
import { join, resolve } from "node:path"
import puppeteer from "puppeteer-core"

const file = resolve(process.argv[2] ?? "map.html")
const pictures = process.argv[3]
const executablePath = process.env.CHROMIUM ?? execSync("command -v chromium").toString().trim()
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] })
let failed = 0

function expect(what, holds) {
  console.log(`${holds ? "ok    " : "FAILED"} ${what}`)
  failed += holds ? 0 : 1
}

// By kind, the place in the page's list of its largest cell that is shown. D, shown, view, px and py are the page's.
function largest() {
  const found = {}, size = c => (high(c, X) - low(c, X)) * (Y < 0 ? 1 : high(c, Y) - low(c, Y))
  for (const i of shown) {
    const name = D.kinds[D.cells[i][1]].name
    if (found[name] === undefined || size(D.cells[found[name]]) < size(D.cells[i])) found[name] = i
  }
  return found
}

// Where the middle of a cell is in the window, in pixels; the page is zoomed to it where it is small.
function middle(i) {
  const c = D.cells[i]
  all()
  if (px(high(c, X)) - px(low(c, X)) < 8 || (Y >= 0 && py(low(c, Y)) - py(high(c, Y)) < 8)) {
    const around = a => [4 * low(c, a) - 3 * high(c, a), 4 * high(c, a) - 3 * low(c, a)]
    view = [...around(X), ...(Y < 0 ? [0, 1] : around(Y))]
  }
  draw()
  const box = document.getElementById("map").getBoundingClientRect()
  const y = Y < 0 ? box.height / 2 : (py(low(c, Y)) + py(high(c, Y))) / 2
  return { x: box.left + (px(low(c, X)) + px(high(c, X))) / 2, y: box.top + y }
}

try {
  for (const width of [1280, 400]) {
    const page = await browser.newPage()
    await page.setViewport({ width, height: 900 })
    const asked = []
    page.on("request", request => asked.push(request.url()))
    page.on("pageerror", error => expect(`${width} px: no error, but ${error}`, false))
    await page.goto(`file://${file}`, { waitUntil: "load" })
    const wide = await page.evaluate(() => document.documentElement.scrollWidth)
    expect(`${width} px: not wider than the window (${wide})`, wide <= width)
    if (pictures) await page.screenshot({ path: join(pictures, `map-${width}.png`), fullPage: true })
    for (const [kind, cell] of Object.entries(await page.evaluate(largest))) {
      const { x, y } = await page.evaluate(middle, cell)
      await page.mouse.move(x, y)
      const tip = await page.$eval("#tip", tip => tip.style.display !== "none" && tip.textContent)
      expect(`${width} px: hovering ${kind}: ${JSON.stringify(tip)}`, tip && tip.includes(kind))
      await page.mouse.click(x, y)
      const said = await page.$eval("#about", about => about.innerText)
      const rows = await page.$$eval("#about tr", rows => rows.length)
      expect(`${width} px: click on ${kind}: ${JSON.stringify(said.slice(0, 200))}, ${rows} rows`, said.includes(kind))
      if (kind === "unsafe") expect(`${width} px: a path is shown`, rows > 2)
      if (kind === "open") expect(`${width} px: says why it is open`, /why|open:|decide|time|bound/.test(said))
      if (pictures) await page.screenshot({ path: join(pictures, `map-${width}-${kind.replace(" ", "-")}.png`), fullPage: true })
    }
    const { x, y } = await page.evaluate(middle, 0)
    await page.mouse.move(x, y)
    const before = await page.evaluate(() => view.join())
    await page.mouse.wheel({ deltaY: -400 })
    await new Promise(done => setTimeout(done, 300))
    expect(`${width} px: the wheel zooms`, before !== await page.evaluate(() => view.join()))
    if (pictures) await page.screenshot({ path: join(pictures, `map-${width}-zoomed.png`), fullPage: true })
    expect(`${width} px: nothing is fetched (${asked.length} address)`, asked.every(one => one.startsWith("file://")))
    await page.close()
  }
} finally {
  await browser.close()
}
process.exit(failed ? 1 : 0)
