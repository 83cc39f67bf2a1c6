-- Health of Ray's kinds for Argo CD, by the rules of kstatus: an edit is done when observedGeneration has reached it,
-- Reconciling and Stalled are not True, and Ready of this generation is True.
--
-- In ConfigMap argocd-cm, under the key resource.customizations.health.ray.io_RayService; the same for RayCluster
-- and RayJob, which has no Ready: there a job that ended is done, and Stalled if it failed.
local generation = obj.metadata.generation
local status = obj.status or {}
local found = {}
for _, condition in ipairs(status.conditions or {}) do
  found[condition.type] = condition
end

local function holds(name)
  return found[name] ~= nil and found[name].status == "True"
end

local function health(word, name, otherwise)
  local condition = found[name]
  local message = condition ~= nil and condition.message or ""
  if message == nil or message == "" then
    message = otherwise
  end
  return {status = word, message = message}
end

if holds("Suspended") then
  return health("Suspended", "Suspended", "suspended")
end
-- KubeRay's name for it on a RayCluster.
if holds("RayClusterSuspended") then
  return health("Suspended", "RayClusterSuspended", "suspended")
end
if status.observedGeneration ~= generation then
  return health("Progressing", "Reconciling", "The operator has not finished this generation")
end
if holds("Reconciling") then
  return health("Progressing", "Reconciling", "Reconciling")
end
if holds("Stalled") then
  return health("Degraded", "Stalled", "Stalled")
end
local ready = found["Ready"]
if ready ~= nil and (ready.status ~= "True" or (ready.observedGeneration or generation) < generation) then
  return health("Progressing", "Ready", "Not ready")
end
return health("Healthy", "Ready", "Ready")
