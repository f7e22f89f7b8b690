"""A pod's spec in full, as messages about forbidden changes have it.

The API server shows its own inner form of the spec there: every field in a fixed order, named as in Go, and
what is absent as null, "", 0 or false.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from moorage.cluster.base.store import Document
from moorage.cluster.kinds.rules import shown_selector

_FIELD = re.compile(r"(\w+)(?:\((\w+)\))?(?:=(\S+))?")
_ABSENT: dict[str, Any] = {"": None, "s": "", "i": 0, "b": False, "q": "0"}
_MOVED = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")

# Per type its fields: name, in brackets the name in the API where that is not just the name in lower case,
# and what it is: s, i, b and q stand for text, number, truth and quantity; *T is a T or null, [T a list of
# T, and nothing at all means that the value stands there as it is, or null.
_TYPES = """
PodSpec: Volumes=[Volume InitContainers=[Container Containers=[Container
  EphemeralContainers=[EphemeralContainer RestartPolicy=s TerminationGracePeriodSeconds
  ActiveDeadlineSeconds DNSPolicy(dnsPolicy)=s NodeSelector ServiceAccountName=s
  AutomountServiceAccountToken NodeName=s SecurityContext=*PodSecurityContext
  ImagePullSecrets=[LocalObjectReference Hostname=s Subdomain=s SetHostnameAsFQDN Affinity=*Affinity
  SchedulerName=s Tolerations=[Toleration HostAliases=[HostAlias PriorityClassName=s Priority
  PreemptionPolicy DNSConfig(dnsConfig)=*PodDNSConfig ReadinessGates=[PodReadinessGate RuntimeClassName
  Overhead EnableServiceLinks TopologySpreadConstraints=[TopologySpreadConstraint OS(os)=*PodOS
  SchedulingGates=[PodSchedulingGate ResourceClaims=[PodResourceClaim Resources=*ResourceRequirements
  HostnameOverride SchedulingGroup=*PodSchedulingGroup
Volume: Name=s HostPath=*HostPathVolumeSource EmptyDir=*EmptyDirVolumeSource
  GCEPersistentDisk(gcePersistentDisk)=*GCEPersistentDiskVolumeSource
  AWSElasticBlockStore(awsElasticBlockStore)=*AWSElasticBlockStoreVolumeSource
  GitRepo=*GitRepoVolumeSource Secret=*SecretVolumeSource NFS(nfs)=*NFSVolumeSource
  ISCSI(iscsi)=*ISCSIVolumeSource Glusterfs=*GlusterfsVolumeSource
  PersistentVolumeClaim=*PersistentVolumeClaimVolumeSource RBD(rbd)=*RBDVolumeSource
  Quobyte=*QuobyteVolumeSource FlexVolume=*FlexVolumeSource Cinder=*CinderVolumeSource
  CephFS(cephfs)=*CephFSVolumeSource Flocker=*FlockerVolumeSource DownwardAPI=*DownwardAPIVolumeSource
  FC(fc)=*FCVolumeSource AzureFile=*AzureFileVolumeSource ConfigMap=*ConfigMapVolumeSource
  VsphereVolume=*VsphereVirtualDiskVolumeSource AzureDisk=*AzureDiskVolumeSource
  PhotonPersistentDisk=*PhotonPersistentDiskVolumeSource Projected=*ProjectedVolumeSource
  PortworxVolume=*PortworxVolumeSource ScaleIO=*ScaleIOVolumeSource
  StorageOS(storageos)=*StorageOSVolumeSource CSI(csi)=*CSIVolumeSource Ephemeral=*EphemeralVolumeSource
  Image=*ImageVolumeSource
HostPathVolumeSource: Path=s Type
EmptyDirVolumeSource: Medium=s SizeLimit
GCEPersistentDiskVolumeSource: PDName(pdName)=s FSType(fsType)=s Partition=i ReadOnly=b
AWSElasticBlockStoreVolumeSource: VolumeID=s FSType(fsType)=s Partition=i ReadOnly=b
GitRepoVolumeSource: Repository=s Revision=s Directory=s
SecretVolumeSource: SecretName=s Items=[KeyToPath DefaultMode Optional
KeyToPath: Key=s Path=s Mode
NFSVolumeSource: Server=s Path=s ReadOnly=b
ISCSIVolumeSource: TargetPortal=s IQN(iqn)=s Lun=i ISCSIInterface(iscsiInterface)=s FSType(fsType)=s
  ReadOnly=b Portals DiscoveryCHAPAuth(chapAuthDiscovery)=b SessionCHAPAuth(chapAuthSession)=b
  SecretRef=*LocalObjectReference InitiatorName
LocalObjectReference: Name=s
GlusterfsVolumeSource: EndpointsName(endpoints)=s Path=s ReadOnly=b
PersistentVolumeClaimVolumeSource: ClaimName=s ReadOnly=b
RBDVolumeSource: CephMonitors(monitors) RBDImage(image)=s FSType(fsType)=s RBDPool(pool)=s
  RadosUser(user)=s Keyring=s SecretRef=*LocalObjectReference ReadOnly=b
QuobyteVolumeSource: Registry=s Volume=s ReadOnly=b User=s Group=s Tenant=s
FlexVolumeSource: Driver=s FSType(fsType)=s SecretRef=*LocalObjectReference ReadOnly=b Options
CinderVolumeSource: VolumeID=s FSType(fsType)=s ReadOnly=b SecretRef=*LocalObjectReference
CephFSVolumeSource: Monitors Path=s User=s SecretFile=s SecretRef=*LocalObjectReference ReadOnly=b
FlockerVolumeSource: DatasetName=s DatasetUUID=s
DownwardAPIVolumeSource: Items=[DownwardAPIVolumeFile DefaultMode
DownwardAPIVolumeFile: Path=s FieldRef=*ObjectFieldSelector ResourceFieldRef=*ResourceFieldSelector Mode
ObjectFieldSelector: APIVersion(apiVersion)=s FieldPath=s
ResourceFieldSelector: ContainerName=s Resource=s Divisor=q
FCVolumeSource: TargetWWNs Lun FSType(fsType)=s ReadOnly=b WWIDs(wwids)
AzureFileVolumeSource: SecretName=s ShareName=s ReadOnly=b
ConfigMapVolumeSource: Name=s Items=[KeyToPath DefaultMode Optional
VsphereVirtualDiskVolumeSource: VolumePath=s FSType(fsType)=s StoragePolicyName=s StoragePolicyID=s
AzureDiskVolumeSource: DiskName=s DataDiskURI(diskURI)=s CachingMode FSType(fsType) ReadOnly Kind
PhotonPersistentDiskVolumeSource: PdID=s FSType(fsType)=s
ProjectedVolumeSource: Sources=[VolumeProjection DefaultMode
VolumeProjection: Secret=*SecretProjection DownwardAPI=*DownwardAPIProjection
  ConfigMap=*ConfigMapProjection ServiceAccountToken=*ServiceAccountTokenProjection
  ClusterTrustBundle=*ClusterTrustBundleProjection PodCertificate=*PodCertificateProjection
SecretProjection: Name=s Items=[KeyToPath Optional
DownwardAPIProjection: Items=[DownwardAPIVolumeFile
ConfigMapProjection: Name=s Items=[KeyToPath Optional
ServiceAccountTokenProjection: Audience=s ExpirationSeconds=i Path=s
ClusterTrustBundleProjection: Name SignerName LabelSelector=*LabelSelector Optional Path=s
PodCertificateProjection: SignerName=s KeyType=s MaxExpirationSeconds CredentialBundlePath=s KeyPath=s
  CertificateChainPath=s UserAnnotations
PortworxVolumeSource: VolumeID=s FSType(fsType)=s ReadOnly=b
ScaleIOVolumeSource: Gateway=s System=s SecretRef=*LocalObjectReference SSLEnabled(sslEnabled)=b
  ProtectionDomain=s StoragePool=s StorageMode=s VolumeName=s FSType(fsType)=s ReadOnly=b
StorageOSVolumeSource: VolumeName=s VolumeNamespace=s FSType(fsType)=s ReadOnly=b
  SecretRef=*LocalObjectReference
CSIVolumeSource: Driver=s ReadOnly FSType(fsType) VolumeAttributes
  NodePublishSecretRef=*LocalObjectReference
EphemeralVolumeSource: VolumeClaimTemplate=*PersistentVolumeClaimTemplate
PersistentVolumeClaimTemplate: Spec=PersistentVolumeClaimSpec
PersistentVolumeClaimSpec: AccessModes Selector=*LabelSelector Resources=VolumeResourceRequirements
  VolumeName=s StorageClassName VolumeMode DataSource=*TypedLocalObjectReference
  DataSourceRef=*TypedObjectReference VolumeAttributesClassName
VolumeResourceRequirements: Limits Requests
TypedLocalObjectReference: APIGroup(apiGroup) Kind=s Name=s
TypedObjectReference: APIGroup(apiGroup) Kind=s Name=s Namespace
ImageVolumeSource: Reference=s PullPolicy=s
Container: Name=s Image=s Command Args WorkingDir=s Ports=[ContainerPort EnvFrom=[EnvFromSource
  Env=[EnvVar Resources=ResourceRequirements ResizePolicy=[ContainerResizePolicy RestartPolicy
  RestartPolicyRules=[ContainerRestartRule VolumeMounts=[VolumeMount VolumeDevices=[VolumeDevice
  LivenessProbe=*Probe ReadinessProbe=*Probe StartupProbe=*Probe Lifecycle=*Lifecycle
  TerminationMessagePath=s TerminationMessagePolicy=s ImagePullPolicy=s SecurityContext=*SecurityContext
  Stdin=b StdinOnce=b TTY(tty)=b
ContainerPort: Name=s HostPort=i ContainerPort=i Protocol=s HostIP=s
EnvFromSource: Prefix=s ConfigMapRef=*ConfigMapEnvSource SecretRef=*SecretEnvSource
ConfigMapEnvSource: Name=s Optional
SecretEnvSource: Name=s Optional
EnvVar: Name=s Value=s ValueFrom=*EnvVarSource
EnvVarSource: FieldRef=*ObjectFieldSelector ResourceFieldRef=*ResourceFieldSelector
  ConfigMapKeyRef=*ConfigMapKeySelector SecretKeyRef=*SecretKeySelector FileKeyRef=*FileKeySelector
ConfigMapKeySelector: Name=s Key=s Optional
SecretKeySelector: Name=s Key=s Optional
FileKeySelector: VolumeName=s Path=s Key=s Optional
ResourceRequirements: Limits Requests Claims=[ResourceClaim
ResourceClaim: Name=s Request=s
ContainerResizePolicy: ResourceName=s RestartPolicy=s
ContainerRestartRule: Action=s ExitCodes=*ContainerRestartRuleOnExitCodes
ContainerRestartRuleOnExitCodes: Operator=s Values
VolumeMount: Name=s ReadOnly=b RecursiveReadOnly MountPath=s SubPath=s MountPropagation SubPathExpr=s
VolumeDevice: Name=s DevicePath=s
Probe: Exec=*ExecAction HTTPGet(httpGet)=*HTTPGetAction TCPSocket(tcpSocket)=*TCPSocketAction
  GRPC(grpc)=*GRPCAction InitialDelaySeconds=i TimeoutSeconds=i PeriodSeconds=i SuccessThreshold=i
  FailureThreshold=i TerminationGracePeriodSeconds
ExecAction: Command
HTTPGetAction: Path=s Port=i Host=s Scheme=s HTTPHeaders(httpHeaders)=[HTTPHeader
HTTPHeader: Name=s Value=s
TCPSocketAction: Port=i Host=s
GRPCAction: Port=i Service
Lifecycle: PostStart=*LifecycleHandler PreStop=*LifecycleHandler StopSignal
LifecycleHandler: Exec=*ExecAction HTTPGet(httpGet)=*HTTPGetAction TCPSocket(tcpSocket)=*TCPSocketAction
  Sleep=*SleepAction
SleepAction: Seconds=i
SecurityContext: Capabilities=*Capabilities Privileged SELinuxOptions(seLinuxOptions)=*SELinuxOptions
  WindowsOptions=*WindowsSecurityContextOptions RunAsUser RunAsGroup RunAsNonRoot ReadOnlyRootFilesystem
  AllowPrivilegeEscalation ProcMount SeccompProfile=*SeccompProfile AppArmorProfile=*AppArmorProfile
Capabilities: Add Drop
SELinuxOptions: User=s Role=s Type=s Level=s
WindowsSecurityContextOptions: GMSACredentialSpecName(gmsaCredentialSpecName)
  GMSACredentialSpec(gmsaCredentialSpec) RunAsUserName HostProcess
SeccompProfile: Type=s LocalhostProfile
AppArmorProfile: Type=s LocalhostProfile
EphemeralContainer: Name=s Image=s Command Args WorkingDir=s Ports=[ContainerPort EnvFrom=[EnvFromSource
  Env=[EnvVar Resources=ResourceRequirements ResizePolicy=[ContainerResizePolicy RestartPolicy
  RestartPolicyRules=[ContainerRestartRule VolumeMounts=[VolumeMount VolumeDevices=[VolumeDevice
  LivenessProbe=*Probe ReadinessProbe=*Probe StartupProbe=*Probe Lifecycle=*Lifecycle
  TerminationMessagePath=s TerminationMessagePolicy=s ImagePullPolicy=s SecurityContext=*SecurityContext
  Stdin=b StdinOnce=b TTY(tty)=b TargetContainerName=s
PodSecurityContext: HostNetwork=b HostPID=b HostIPC=b ShareProcessNamespace HostUsers
  SELinuxOptions(seLinuxOptions)=*SELinuxOptions WindowsOptions=*WindowsSecurityContextOptions RunAsUser
  RunAsGroup RunAsNonRoot SupplementalGroups SupplementalGroupsPolicy FSGroup(fsGroup)
  FSGroupChangePolicy(fsGroupChangePolicy) Sysctls=[Sysctl SeccompProfile=*SeccompProfile
  AppArmorProfile=*AppArmorProfile SELinuxChangePolicy(seLinuxChangePolicy)
Sysctl: Name=s Value=s
Affinity: NodeAffinity=*NodeAffinity PodAffinity=*PodAffinity PodAntiAffinity=*PodAntiAffinity
NodeAffinity: RequiredDuringSchedulingIgnoredDuringExecution=*NodeSelector
  PreferredDuringSchedulingIgnoredDuringExecution=[PreferredSchedulingTerm
NodeSelector: NodeSelectorTerms=[NodeSelectorTerm
NodeSelectorTerm: MatchExpressions=[NodeSelectorRequirement MatchFields=[NodeSelectorRequirement
NodeSelectorRequirement: Key=s Operator=s Values
PreferredSchedulingTerm: Weight=i Preference=NodeSelectorTerm
PodAffinity: RequiredDuringSchedulingIgnoredDuringExecution=[PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution=[WeightedPodAffinityTerm
PodAffinityTerm: LabelSelector=*LabelSelector Namespaces TopologyKey=s NamespaceSelector=*LabelSelector
  MatchLabelKeys MismatchLabelKeys
WeightedPodAffinityTerm: Weight=i PodAffinityTerm=PodAffinityTerm
PodAntiAffinity: RequiredDuringSchedulingIgnoredDuringExecution=[PodAffinityTerm
  PreferredDuringSchedulingIgnoredDuringExecution=[WeightedPodAffinityTerm
Toleration: Key=s Operator=s Value=s Effect=s TolerationSeconds
HostAlias: IP(ip)=s Hostnames
PodDNSConfig: Nameservers Searches Options=[PodDNSConfigOption
PodDNSConfigOption: Name=s Value
PodReadinessGate: ConditionType=s
TopologySpreadConstraint: MaxSkew=i TopologyKey=s WhenUnsatisfiable=s LabelSelector=*LabelSelector
  MinDomains NodeAffinityPolicy NodeTaintsPolicy MatchLabelKeys
PodOS: Name=s
PodSchedulingGate: Name=s
PodResourceClaim: Name=s ResourceClaimName ResourceClaimTemplateName
PodSchedulingGroup: PodGroupName
"""


def shown_pod_spec(spec: Document) -> Document:
    moved = {name: spec[name] for name in _MOVED if name in spec}
    return shown_part({**spec, "securityContext": {**spec.get("securityContext", {}), **moved}}, "PodSpec")


def shown_part(value: Document, type_name: str) -> Document:
    """A part of a spec, by the name of its type in Go."""
    return {name: show(value.get(field)) for name, field, show in _FIELDS[type_name]}


def _reader(kind: str) -> Callable[[Any], Any]:
    """How a value of this kind is shown; None is one that is absent."""
    if kind in _ABSENT:
        absent = _ABSENT[kind]
        return lambda value: absent if value is None else _sorted(value)
    if kind == "*LabelSelector":
        return shown_selector
    if kind.startswith("*"):
        return lambda value: None if value is None else shown_part(value, kind[1:])
    if kind.startswith("["):
        return lambda value: [shown_part(each, kind[1:]) for each in value] if value else None
    return lambda value: shown_part(value or {}, kind)


def _sorted(value: Any) -> Any:
    return dict(sorted(value.items())) if isinstance(value, dict) else value


def _read() -> dict[str, list[tuple[str, str, Callable[[Any], Any]]]]:
    types = {}
    for line in _TYPES.replace("\n  ", " ").strip().splitlines():
        type_name, _, fields = line.partition(": ")
        types[type_name] = [
            (name, field or name[0].lower() + name[1:], _reader(kind or ""))
            for name, field, kind in _FIELD.findall(fields)
        ]
    return types


_FIELDS = _read()
