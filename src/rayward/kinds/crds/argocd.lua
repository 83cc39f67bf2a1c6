-- Health of Ray's kinds for Argo CD, by the rules of kstatus: an edit is done when observedGeneration has reached it,
-- Reconciling and Stalled are not True, and Ready of this generation is True. RayJob and RayCronJob have no Ready: a job
-- that ended is done, and Stalled if it failed; a schedule is done when it was accepted.
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

-- What is suspended and has a spec that is rejected would not run again.
local stalled = holds("Stalled") and not holds("Reconciling") and status.observedGeneration == generation
-- The second is KubeRay's name for it on a RayCluster.
for _, name in ipairs({"Suspended", "RayClusterSuspended"}) do
  if holds(name) and not stalled then
    return health("Suspended", name, "suspended")
  end
end
if status.observedGeneration ~= generation then
  return health("Progressing", "Reconciling", "The operator has not finished this generation")
end
if holds("Reconciling") then
  return health("Progressing", "Reconciling", "Reconciling")
end
if stalled then
  return health("Degraded", "Stalled", "Stalled")
end
local ready = found["Ready"]
if ready ~= nil and (ready.status ~= "True" or (ready.observedGeneration or generation) < generation) then
  return health("Progressing", "Ready", "Not ready")
end
return health("Healthy", "Ready", "Ready")
