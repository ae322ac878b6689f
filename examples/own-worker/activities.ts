/** Activities of one's own, on the same worker as the sessions. */
export const orderActivities = {
  async ordersOf(customer: string): Promise<string[]> {
    return customer === 'ada' ? ['4711', '4712'] : []
  },
}
