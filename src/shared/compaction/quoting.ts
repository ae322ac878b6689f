/**
 * Text of the session inside text of ours. Nothing reads these marks back (state is carried beside the text); they keep
 * a reading model from taking quoted text for the harness's own words.
 */

/** The text, unchanged byte for byte, between two lines of backticks that are longer than any run of them inside it. */
export function fenced(value: string): string {
  const longest = Math.max(2, ...(value.match(/`+/g) ?? []).map((run) => run.length))
  const fence = '`'.repeat(longest + 1)
  return `${fence}\n${value}\n${fence}`
}

/**
 * Free text under a heading of ours: a line that looks like a heading, a fence, a quotation or a bracketed line of a checkpoint loses
 * that look by a backslash. Other lines stay as they are.
 */
export const underHeading = (value: string): string => value.replace(LIKE_OURS, '$1\\')

const LIKE_OURS =
  /^([ \t]*)(?=#{1,6}(?:[ \t]|$)|```|>|\[(?:Checkpoint written by code|This stands for events|compressed\]|Request of the harness))/gim
