/** What the form asks of the scheduler. */

/** @typedef {{ text: string, pod: string, cpu: string, memory: string, selector: string, tolerations: string }} Form */

/**
 * The body of the question; raises TypeError with words for people.
 * @param {Form} form
 */
export function bodyFor({ text, pod, cpu, memory, selector, tolerations }) {
  const set = [];
  const requests = "spec.containers[0].resources.requests";
  if (cpu) set.push(`${requests}.cpu=${JSON.stringify(cpu)}`);
  if (memory) set.push(`${requests}.memory=${JSON.stringify(memory)}`);
  for (const pair of parts(selector)) {
    const [key = "", value] = pair.split(/=(.*)/s);
    if (!key || value === undefined || key.includes('"'))
      throw new TypeError(`Node selector: ${pair} is no label; write it like disk=ssd`);
    set.push(`spec.nodeSelector."${key.trim()}"=${JSON.stringify(value.trim())}`);
  }
  return { pod: pod ? named(pod) : document(text), set, tolerate: parts(tolerations), advise: true };
}

/** @param {string} text */
function parts(text) {
  return text.split(/[,\s]+/).filter(Boolean);
}

/** @param {string} pod */
function named(pod) {
  const [namespace = "", name] = pod.split("/");
  return name === undefined ? { namespace: "default", name: namespace } : { namespace, name };
}

/**
 * JSON as a document; YAML as text, which the server reads.
 * @param {string} text
 */
function document(text) {
  if (!text.trim()) throw new TypeError("There is no pod to try: write one, or name one that is there.");
  try {
    const parsed = JSON.parse(text);
    if (parsed && typeof parsed === "object") return parsed;
  } catch {
    // not JSON: YAML
  }
  return text;
}
