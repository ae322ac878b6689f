/** Prints for people, or one JSON value a line with `--json`. Progress goes to the error output, so that a pipe gets results only. */
export class Output {
  readonly json: boolean

  constructor(json: boolean) {
    this.json = json
  }

  /** The result of a command. */
  result(value: unknown, human: string): void {
    console.log(this.json ? JSON.stringify(value) : human)
  }

  /** The results of a command that has many of one kind. */
  results(values: readonly unknown[], human: string): void {
    if (this.json) for (const value of values) console.log(JSON.stringify(value))
    else console.log(human)
  }

  /** What happens meanwhile; silent with `--json`. */
  progress(line: string): void {
    if (!this.json) console.error(line)
  }
}
