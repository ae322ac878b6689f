export async function showLevels(_folder: string): Promise<number> {
  throw new Error('levels')
}
