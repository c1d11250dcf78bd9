/* The page: it shows tasks and answers; a worker (worker.js) has Python in it, so that the page stays awake. */
const part = name => document.getElementById(name)
let worker, examples

function say(text, problem = false) {
  part("state").textContent = text
  part("state").className = problem ? "problem" : ""
}

function busy(is) {
  part("ask").disabled = is
  part("stop").disabled = !is
}

function start() {
  part("ask").disabled = true
  part("stop").disabled = true
  worker = new Worker("worker.js", { type: "module" }) // Pyodide runs in no other kind
  worker.onmessage = ({ data }) => {
    if (data.state) say(data.state)
    if (data.problem) say(data.problem, true)
    if (data.ready) { say(`ready: Python ${data.ready}${data.without.length ? `, without ${data.without.join(", ")}` : ""}`); busy(false) }
    if (data.answer) { show(JSON.parse(data.answer)); say("done"); busy(false) }
  }
  worker.onerror = event => say(`the worker failed: ${event.message}`, true)
}

function show(found) {
  const list = part("answers")
  list.replaceChildren()
  if (found.error) {
    const text = document.createElement("pre")
    text.className = "problem"
    text.textContent = found.error
    list.append(text)
  }
  for (const one of found.answers ?? []) {
    const box = document.createElement("div")
    box.innerHTML = one.html // made by Vernal, which escapes every name of the task
    list.append(box)
  }
}

part("ask").onclick = () => {
  busy(true)
  say("at work ...")
  const example = examples[part("example").value]
  worker.postMessage({
    text: part("task").value, spec: part("spec").value, seconds: Number(part("seconds").value), files: example.files,
  })
}
part("stop").onclick = () => { worker.terminate(); say("stopped; loading again ..."); start() }
part("example").onchange = () => { part("task").value = examples[part("example").value].text }

fetch("examples.json").then(found => found.json()).then(found => {
  examples = found
  part("example").append(...Object.keys(examples).map(name => new Option(name)))
  part("example").onchange()
  start()
}, error => say(`the examples cannot be read: ${error}; this page needs a server (python -m http.server -d site)`, true))
