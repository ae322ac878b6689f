/** A door that a test opens: `wait` resolves once it is open, `reached` once somebody waits. */
export class Gate {
  open: () => void = () => {}
  readonly #opened = new Promise<void>((resolve) => {
    this.open = resolve
  })
  #arrive: () => void = () => {}
  readonly reached = new Promise<void>((resolve) => {
    this.#arrive = resolve
  })

  async wait(): Promise<void> {
    this.#arrive()
    await this.#opened
  }
}
