import { setWorkflowOptions, workflowInfo } from '@temporalio/workflow'

/**
 * Says how a workflow follows new releases of its worker. Only to a worker that belongs to a deployment: the server refuses a behaviour from any other.
 */
export function setVersioning<A extends unknown[], R>(
  workflow: (...args: A) => Promise<R>,
  versioningBehavior: 'AUTO_UPGRADE' | 'PINNED',
): void {
  const isVersioned = () => Boolean(workflowInfo().currentDeploymentVersion?.deploymentName)
  setWorkflowOptions(() => (isVersioned() ? { versioningBehavior } : {}), workflow)
}
