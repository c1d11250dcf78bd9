// Open the built site in a headless browser, from a folder and over HTTP, type a word into the search, and see results.
//
//     npm install puppeteer-core && node scripts/try_site.mjs site [folder for pictures]
//
// CHROMIUM names the browser (default: chromium on the PATH).
import { createServer } from "node:http"
import { readFile } from "node:fs/promises"
import { execSync } from "node:child_process"
import { extname, join, resolve } from "node:path"
import puppeteer from "puppeteer-core"

const site = resolve(process.argv[2] ?? "site")
const pictures = process.argv[3]
const words = ["margin", "thermostat", "stable-baselines3"]
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".json": "application/json" }
types[".svg"] = "image/svg+xml"
types[".wasm"] = "application/wasm"
types[".mjs"] = "text/javascript"

// How many results there are, once one of them has the word: those of the word before may still be there.
function answers(word) {
  const found = [...document.querySelectorAll(".md-search-result__item")]
  return found.some(one => one.textContent.toLowerCase().includes(word)) ? found.length : 0
}

const server = createServer(async (request, response) => {
  try {
    const file = join(site, decodeURIComponent(new URL(request.url, "http://site").pathname))
    const content = await readFile(file.endsWith("/") ? join(file, "index.html") : file)
    response.writeHead(200, { "content-type": types[extname(file)] ?? "application/octet-stream" }).end(content)
  } catch {
    response.writeHead(404).end()
  }
})
await new Promise(done => server.listen(0, "127.0.0.1", done))
const executablePath = process.env.CHROMIUM ?? execSync("command -v chromium").toString().trim()
const browser = await puppeteer.launch({ executablePath, args: ["--no-sandbox"] })
let failed = 0
try {
  for (const base of [`file://${site}`, `http://127.0.0.1:${server.address().port}`]) {
    for (const [page_, width] of [["index.html", 1280], ["docs/tasks.html", 400]]) {
      const page = await browser.newPage()
      await page.setViewport({ width, height: 900 })
      const asked = []
      page.on("request", request => asked.push(request.url()))
      page.on("pageerror", error => { failed += 1; console.log(`error on ${page_}: ${error}`) })
      await page.goto(`${base}/${page_}`, { waitUntil: "load" })
      for (const word of words) {
        const button = "label.md-header__button[for=__search]"
        const hidden = await page.$eval("#__search", toggle => !toggle.checked)
        if (width < 960 && hidden) await page.click(button)
        await page.focus("input.md-search__input")
        await page.evaluate(() => { document.querySelector("input.md-search__input").value = "" })
        await page.type("input.md-search__input", word)
        const found = await page
          .waitForFunction(answers, { timeout: 30000 }, word)
          .then(handle => handle.jsonValue(), () => 0)
        console.log(`${base.slice(0, 7)} ${page_} ${width} px: ${word}: ${found} results`)
        failed += found ? 0 : 1
        if (pictures) await page.screenshot({ path: join(pictures, `${base.slice(0, 4)}-${width}-${word}.png`) })
      }
      const foreign = asked.filter(url => !url.startsWith(base) && !url.startsWith("data:") && !url.startsWith("blob:"))
      if (foreign.length) { failed += 1; console.log(`asks others: ${foreign}`) }
      await page.close()
    }
  }
} finally {
  await browser.close()
  server.close()
}
process.exit(failed ? 1 : 0)
