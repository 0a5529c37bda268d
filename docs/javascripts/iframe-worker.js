// Search for a site that is opened from the disk. The theme searches in a worker, which browsers refuse to load from
// files; there, a hidden frame that runs the same script takes the worker's place. Served sites are left alone.
if (window.location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      // What the script posts is for this page, not for its own window.
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.waiting = []
      const script = frame.contentDocument.createElement("script")
      script.src = url
      script.onload = () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      }
      frame.contentDocument.body.append(script)
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }))
    }

    terminate() {
      this.inside.frameElement?.remove()
    }
  }
}
