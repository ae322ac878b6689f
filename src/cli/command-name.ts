/** How a person calls this program, for the hints that it prints. */
export const COMMAND = process.argv[1]?.endsWith('.ts') ? 'npm run -s cli --' : 'durable-compaction'
