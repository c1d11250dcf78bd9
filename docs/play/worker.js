/* Python in the browser: loads Pyodide and what Vernal needs, then answers one question after the other. */
const FOLDER = "/models"
let ask

async function load() {
  const { pyodide, packages, optional, wheels, missing } = await (await fetch("packages.json")).json()
  const at = new URL(pyodide, location.href).href
  if (missing.length) throw new Error(`no wheel could be had of ${missing.join(", ")} when this site was built`)
  postMessage({ state: "loading Python ..." })
  const { loadPyodide } = await import(`${at}pyodide.mjs`)
  const python = await loadPyodide({ indexURL: at })
  const lost = await lacking(python, packages)
  if (lost.length) throw new Error(`${at} has no ${shortened(lost)}; install Vernal, and \`vernal check\` answers the same`)
  const without = await lacking(python, optional)
  postMessage({ state: "loading Vernal ..." })
  for (const wheel of wheels) {
    const url = new URL(wheel, location.href).href
    const found = await fetch(url)
    if (!found.ok) throw new Error(`${url} cannot be loaded (${found.status})`)
    python.unpackArchive(await found.arrayBuffer(), "wheel")
  }
  python.FS.mkdirTree(FOLDER)
  ask = python.runPython("from vernal.plugins.playground import answer\nanswer")
  onmessage = ({ data }) => {
    for (const [name, content] of Object.entries(data.files)) {
      python.FS.writeFile(`${FOLDER}/${name}`, Uint8Array.from(atob(content), sign => sign.charCodeAt(0)))
    }
    try {
      postMessage({ answer: ask(data.text, FOLDER, data.spec, data.seconds) })
    } catch (error) {
      postMessage({ answer: JSON.stringify({ error: String(error) }) })
    }
  }
  postMessage({ ready: python.version, without })
}

/* A list of names, of which the first few are enough. */
function shortened(names) {
  return names.length > 5 ? `${names.slice(0, 4).join(", ")} and ${names.length - 4} more packages` : names.join(", ")
}

/* Load packages, and say which cannot be had. */
async function lacking(python, names) {
  const failed = []
  await python.loadPackage(names, { messageCallback: text => postMessage({ state: text }), errorCallback: text => failed.push(text) })
  const lost = failed.map(text => /while loading (.+?):/.exec(text)?.[1]).filter(Boolean) // other lines say why
  return lost.length ? lost : failed.slice(0, 1)
}

load().catch(error => postMessage({ problem: `Vernal cannot be loaded here: ${error.message ?? error}` }))
